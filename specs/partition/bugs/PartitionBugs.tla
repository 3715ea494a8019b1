---------------------------- MODULE PartitionBugs ----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS PartitionRules, IsrMembership, HighWatermark

(* Z22: an answer goes out when its records are written.                    *)
Z22_AnswersBeforeCommit == TRUE

(* Z23, Z24 (KAFKA-1211): before KIP-101 a new follower truncated its log   *)
(* to its high watermark, without a request for the point of divergence.    *)
Z23_EndOnBecomeFollower(row) == MinOf(row.highWatermark, EndOffset(row.log))
Z23_IsDiverging(row, m) == FALSE

(* Z25 (KIP-279, KAFKA-6361): the leader returns the end of an epoch, but   *)
(* not which epoch, if it does not know the requested one.                  *)
Z25_EpochEndFor(row, m) ==
  LET end == EndOffsetFor(row.epochCache, EndOffset(row.log), m.lastFetchedEpoch)
  IN IF end.epoch = Undefined THEN end ELSE [end EXCEPT !.epoch = m.lastFetchedEpoch]

Z25_TruncationPoint(row, diverging) == MinOf(diverging.endOffset, EndOffset(row.log))

(* Z26 (KIP-320, KAFKA-6880): fetches are not fenced by leader epoch, and   *)
(* only the first one after a change of leader looks for divergence.        *)
Z26_FetchEpochError(row, m) == IF row.role = "Leader" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER"
Z26_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)
Z26_IsDiverging(row, m) ==
  /\ m.lastFetchedEpoch # Undefined
  /\ EpochEndFor(row, m).epoch < m.lastFetchedEpoch

(* Z27 (KIP-320, first try): a fetch is judged by the epoch of the last     *)
(* record that the follower has, and not by the epoch that it is in.        *)
Z27_FetchEpochError(row, m) == IF row.role = "Leader" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER"

(* Z28 (KAFKA-7128): a replica joins the ISR at the high watermark, which a *)
(* new leader may know too low.                                             *)
Z28_IsInSync(row, r) == row.remotes[r].endOffset >= row.highWatermark

(* Z29 (KAFKA-13141): a diverging fetch updates what the leader knows.      *)
Z29_MayUpdateFetchState(row, m) == TRUE

(* Z30 (KIP-320): a leader in another epoch decides where to truncate,      *)
(* whose log may itself still be cut; or the answer comes so late that the  *)
(* same broker leads again, in a later epoch, and the follower has copied   *)
(* what it had been told to cut.                                            *)
Z30_FetchEpochError(row, m) ==
  CASE row.role = "Leader" /\ IsDiverging(row, m) -> "NONE"
    [] m.epoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch > row.leaderEpoch -> "UNKNOWN_LEADER_EPOCH"
    [] row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] OTHER -> "NONE"

Z30_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)
  /\ m.diverging # NoDivergence \/ m.request.epoch = row.leaderEpoch

(* Z31 (KAFKA-7164): a follower whose leader is the same as before does not *)
(* ask whether the logs diverge, although it missed an epoch.               *)
Z31_LastFetchedOnBecomeFollower(row, partition) ==
  IF row.image.partition.leader = partition.leader THEN Undefined ELSE LastEpochOf(row.epochCache)

(* Z32 (KAFKA-7415): a new leader does not note where its epoch begins, and *)
(* cannot say where an epoch ends that came after all that it wrote.        *)
Z32_CacheOnBecomeLeader(row, epoch) == row.epochCache

(* Z33 (KIP-497): the high watermark waits for the committed ISR, and not for*)
(* a member that is about to join.                                          *)
Z33_HighWatermarkQuorum(row) == row.isr

(* Z34: a proposed shrink counts before the controller has agreed.          *)
Z34_MaximalIsr(row) ==
  IF row.pending = NoPending THEN row.isr ELSE {m.broker : m \in row.pending.isr}

(* Z35 (KIP-497): AlterPartition is accepted whatever the partition epoch.  *)
Z35_PartitionEpochError(partition, m) == "NONE"

(* Z37 (KIP-841, KAFKA-13916): a broker that is fenced or stops may join the*)
(* ISR.                                                                     *)
Z37_IsIsrEligible(row, r) == row.remotes[r].brokerEpoch # Undefined
Z37_IsrMemberActive(registration) == TRUE

(* Z38 (KIP-903, KAFKA-14139): the ISR takes a broker that has come back    *)
(* with another log than the one that was in sync.                          *)
Z38_IsrMemberEpochMatches(registration, member) == TRUE

(* Z39 (KAFKA-15221): a member is judged by its old fetch, and proposed with *)
(* the broker epoch that metadata shows when the request is written.         *)
Z39_AlterPartitionRequest(n, row) ==
  [type |-> "AlterPartitionRequest", source |-> n, destination |-> Controller,
   brokerEpoch |-> row.brokerEpoch, leaderEpoch |-> row.leaderEpoch,
   partitionEpoch |-> row.partitionEpoch, recovering |-> FALSE,
   isr |-> {[member EXCEPT !.epoch = row.image.brokers[member.broker].epoch] :
              member \in row.pending.isr}]

(* Z41 (KAFKA-15583): the high watermark moves below min ISR.               *)
Z41_EnoughInSync(row) == TRUE

(* Z42 (KAFKA-18106): a broker that comes back without proof of a clean stop*)
(* stays eligible.                                                          *)
Z42_TargetElr(partition, targetIsr, unclean) ==
  IF ~ElrEnabled \/ Cardinality(targetIsr) >= EffectiveMinIsr THEN {}
  ELSE (partition.elr \cup partition.isr) \ targetIsr

(* Z43 (KAFKA-19522): the last known leader is elected alive or not.        *)
Z43_LastKnownLeaderElectable(partition, targetIsr, targetElr, acceptable) ==
  /\ ElrEnabled /\ targetIsr = {} /\ targetElr = {}
  /\ partition.lastKnownLeader # Nobody

(* Z44 (KAFKA-14704): a follower that must truncate first adopts the high   *)
(* watermark, and exposes records that it is about to remove.               *)
Z44_Step_HandleReplicaFetchResponse(n, row, m) ==
  LET answered == [row EXCEPT !.fetching = @ \ {m.request}]
      told == [row EXCEPT !.highWatermark = FollowerHighWatermark(row, m.highWatermark)]
  IN CASE m.request \notin row.fetching -> Ignore(row, "NotAwaited")
       [] ~ResponseMatches(row, m) -> Outcome(answered, {})
       [] m.error = "OFFSET_OUT_OF_RANGE" -> Outcome(OutOfRange(answered, m), {})
       [] m.error # "NONE" -> Outcome(answered, {})
       [] m.diverging # NoDivergence /\ told # row -> Outcome(told, {})
       [] m.diverging # NoDivergence ->
            Outcome(TruncateTo(answered, TruncationPoint(row, m.diverging)), {})
       [] OTHER -> Outcome(AppendFetched(answered, m), {})

(* Z45 (KAFKA-15510): an empty response makes the follower forget the epoch *)
(* of its last record, and its next fetch is not checked.                   *)
Z45_LastFetchedAfter(row, records) ==
  IF records = <<>> THEN Undefined ELSE records[Len(records)].epoch

(* Z46 (KAFKA-18723): a response is applied in another epoch than that of   *)
(* its request.                                                             *)
Z46_Appendable(m) == m.records
Z46_ResponseMatches(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ m.request.fetchOffset = EndOffset(row.log)

(* Z48 (KIP-207, KAFKA-2334): a new leader names its high watermark before  *)
(* it is known to be current.                                               *)
Z48_ListOffsetsError(row) == IF row.role = "Leader" THEN "NONE" ELSE "NOT_LEADER_OR_FOLLOWER"

(* Z49 (KAFKA-9491): a follower that starts from an empty log keeps its     *)
(* high watermark.                                                          *)
Z49_HighWatermarkAfterWipe(row, start) == row.highWatermark

(* Z50: a produce succeeds although the ISR has shrunk meanwhile. P6 does   *)
(* not advance below min ISR and so hides this bug; it needs the high       *)
(* watermark of Kafka before KAFKA-15583.                                   *)
Z50_ParkedError(row) == "NONE"
Z50_EnoughInSync(row) == TRUE

(* Z51 (KAFKA-13091): the high watermark is not tried when the ISR has      *)
(* changed.                                                                 *)
Z51_AdvancesAfterAlterPartition == FALSE

(* Z52 (KAFKA-15021): the high watermark waits for a replica that was       *)
(* caught up, whether it may join the ISR or not.                           *)
Z52_IsWaitedFor(row, r) ==
  row.remotes[r].caughtUp \/ row.remotes[r].endOffset = EndOffset(row.log)

(* Z55: recovery keeps the records after a bad batch.                       *)
Z55_RecoveredEnd(row) == EndOffset(row.log)

(* Z56: a response to a registration is accepted for any incarnation: a     *)
(* restarted broker takes the epoch of its former incarnation.              *)
Z56_RegistrationAccepted(row, m) == row.controllerRequest.type = "RegisterBrokerRequest"

(* Z58: a batch that is sent again is appended again.                        *)
Z58_DuplicateOffset(row, m) == Undefined
Z58_ProduceError(row, m) ==
  CASE row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] m.acks = -1 /\ Cardinality(row.isr) < EffectiveMinIsr -> "NOT_ENOUGH_REPLICAS"
    [] OTHER -> "NONE"

(* Z60: truncation leaves the producer state alone: a batch that was cut is   *)
(* taken for a duplicate when it is sent again, and answered.                *)
Z60_ProducersAfterTruncation(row, log) == row.producers

(* Z67: a leader that led before keeps the followers' end offsets, although *)
(* it may have missed another leader under which they truncated. Kafka does *)
(* this.                                                                    *)
Z67_KeepsEndOffsets(row) == row.role = "Leader"

(* Z69: metadata with the partition epoch that an answer has brought before *)
(* clears the next proposal, which may be on its way.  Kafka does this.     *)
Z69_ClearsPending(row, partition) == TRUE

(* Z155 (KAFKA-6653, KAFKA-9777): a fetch that lets the high watermark pass *)
(* a parked request finds it locked by a thread that has already checked,   *)
(* and leaves.                                                              *)
Z155_RecheckCompletion == FALSE

(* Z170: the offset of a fetch of an old leadership is offered to the ISR   *)
(* of a later one.  Kafka does this, where the fetch is noted late.         *)
Z170_FencedFetchMayExpandIsr == TRUE

(* Z194: a leader accepts a deposed controller's response to a request that *)
(* was given up and then sent to the present one.                           *)
Z194_HearsDeposed == TRUE

(* Z308 (S9, KIP-107): a deletion is confirmed before the replicas have     *)
(* made it.                                                                 *)
Z308_DeletionAwaits(row, r) == FALSE
==============================================================================
