-------------------------- MODULE Kafka43Partition --------------------------
(***************************************************************************)
(* A partition as Apache Kafka 4.3 runs it, where that is not what the      *)
(* specs say is right; as Kafka43 is of the quorum, and under the same law. *)
(***************************************************************************)
EXTENDS BrokerCases, PartitionController

CONSTANT Entries

(* keeps-end-offsets: who was leader before keeps what it knew of followers.*)
Kafka_KeepsEndOffsets(row) == "keeps-end-offsets" \in Entries /\ row.role = "Leader"

(* clears-proposal: any metadata of the partition clears what is proposed.  *)
Kafka_ClearsPending(row, partition) ==
  \/ "clears-proposal" \in Entries
  \/ partition.partitionEpoch > row.partitionEpoch

(* fenced-not-compared: of a broker that is fenced any epoch will do.       *)
Kafka_IsStaleReplica(row, m) ==
  LET known == row.image.brokers[m.source]
  IN known.epoch > m.brokerEpoch /\ ~("fenced-not-compared" \in Entries /\ known.fenced)

-----------------------------------------------------------------------------
(* one-proposal: while a proposal that metadata has cleared is on its way,  *)
(* another is refused at once, and is as if it had not been made.           *)
Proposed(row, after) ==
  IF "one-proposal" \in Entries /\ row.alterRequest # NoRequest /\ row.pending = NoPending
  THEN {after, row} ELSE {after}

Kafka_HandleIsrShrinkTimeout(n, row, input) ==
  LET lagging == {r \in row.isr \ {n} : IsOutOfSync(row, r)}
      shrunk == [row EXCEPT !.pending = Proposal(n, row, "Shrink", row.isr \ lagging)]
  IN IF ~IsLeader(row) \/ row.pending # NoPending \/ lagging = {} THEN Disabled
     ELSE UNION {Outcome(after, {}) : after \in Proposed(row, shrunk)}

(* caught-up-before: who has now fetched what the leader had when it        *)
(* fetched last was caught up then, which may be recent.  When it fetched,  *)
(* and what the leader had, is not in the row, so that both are allowed.    *)
CaughtUp(row, m) ==
  LET old == row.remotes[m.source]
      now == old.caughtUp \/ m.fetchOffset >= EndOffset(row.log)
  IN IF "caught-up-before" \in Entries /\ old.endOffset # Undefined
        /\ m.fetchOffset >= old.endOffset
     THEN {now, TRUE} ELSE {now}

NotedAs(n, row, m) ==
  LET old == row.remotes[m.source]
      heard(caughtUp) ==
        [row EXCEPT !.remotes[m.source] =
           [endOffset |-> m.fetchOffset, brokerEpoch |-> m.brokerEpoch, caughtUp |-> caughtUp,
            logStart |-> m.logStart]]
      tried(after) == IF old.endOffset = m.fetchOffset THEN after ELSE Advanced(n, after)
  IN UNION {{tried(after) :
               after \in Proposed(heard(caughtUp), MaybeExpandIsr(n, heard(caughtUp), m.source))} :
            caughtUp \in CaughtUp(row, m)}

Kafka_HandleReplicaFetchRequest(n, row, m) ==
  LET error == FetchEpochError(row, m)
      offsetError == FetchOffsetError(row, m)
      fail(why) == Outcome(row, {ReplicaFetchResponse(n, row, m, why, <<>>, NoDivergence)})
      diverging == IsDiverging(row, m)
      noted == IF MayUpdateFetchState(row, m) THEN NotedAs(n, row, m) ELSE {row}
      records == IF diverging THEN <<>>
                 ELSE BatchesFrom(row.log, m.fetchOffset, EndOffset(row.log), FetchMaxRecords)
      reply == ReplicaFetchResponse(n, row, m, "NONE", records,
                                    IF diverging THEN EpochEndFor(row, m) ELSE NoDivergence)
  IN CASE error # "NONE" -> fail(error)
       [] offsetError # "NONE" -> fail(offsetError)
       [] IsStaleReplica(row, m) -> fail("NOT_LEADER_OR_FOLLOWER")
       [] OTHER -> UNION {Outcome(WithoutReached(after), {reply} \cup ReachedResponses(n, after)) :
                          after \in noted}

-----------------------------------------------------------------------------
(* last-batch-kept: a snapshot has the last batch of each producer only, so *)
(* that a loaded one knows that and what came after it.  Whether            *)
(* there was one is not in the row.                                         *)
Loaded(producers) ==
  IF "last-batch-kept" \notin Entries THEN {producers}
  ELSE {{[p EXCEPT !.batches = SubSeq(@, MaxOf(1, Len(@) - kept + 1), Len(@))] : p \in producers} :
        kept \in 1..BatchesKept}

AnyLoaded(row) == UNION {Outcome([row EXCEPT !.producers = known], {}) :
                         known \in Loaded(row.producers)}

(* stops-fetching: who is about to stop, and not in the ISR that it knows,   *)
(* has no fetcher any more that would use an answer.                        *)
FetchesNoMore(n, row) ==
  "stops-fetching" \in Entries /\ row.status = "ShuttingDown" /\ n \notin row.image.partition.isr

Kafka_HandleReplicaFetchResponse(n, row, m) ==
  LET answered == [row EXCEPT !.fetching = @ \ {m.request}]
      used ==
        CASE ~ResponseMatches(row, m) -> Outcome(answered, {})
          [] m.error = "OFFSET_OUT_OF_RANGE" -> AnyLoaded(OutOfRange(answered, m))
          [] m.diverging # NoDivergence ->
               AnyLoaded(TruncateTo(answered, TruncationPoint(row, m.diverging)))
          [] OTHER -> Outcome(AppendFetched(answered, m), {})
  IN IF ~MayChangeLog(row, m) THEN NoteFetched(row, m)
     ELSE used \cup (IF FetchesNoMore(n, row) THEN Outcome(answered, {}) ELSE {})

Kafka_HandleBrokerRestart(n, row, input) ==
  LET end == RecoveredEnd(row)
      log == Prefix(row.log, end)
      highWatermark == RecoveredHighWatermark(row, end)
  IN IF row.status # "Down" THEN Disabled
     ELSE AnyLoaded([row EXCEPT
            !.status = "Starting", !.incarnation = @ + 1,
            !.previousEpoch = row.cleanShutdown, !.cleanShutdown = Undefined,
            !.log = log, !.flushed = MinOf(@, end), !.corrupt = Undefined,
            !.epochCache = RecoveredEpochCache(row, end),
            !.producers = ProducersOf(log, BatchesKept),
            !.highWatermark = highWatermark, !.checkpoint = highWatermark])

(* stops-at-once: who has not heard yet that it is unfenced stops without   *)
(* asking the controller.  What it has heard is not in the row.             *)
Kafka_HandleControlledShutdown(n, row, input) ==
  IF row.status # "Running" THEN Disabled
  ELSE Outcome([row EXCEPT !.status = "ShuttingDown"], {})
         \cup (IF "stops-at-once" \in Entries THEN Outcome(StoppedCleanly(row), {}) ELSE {})

-----------------------------------------------------------------------------
(* The controller: all of it is soft state, which no other node sees.       *)
(* forgets-metadata-offset: to replay a change of a registration is to      *)
(* register the broker again, and the metadata that it had applied is lost. *)
Replayed(contact) ==
  IF "forgets-metadata-offset" \in Entries
  THEN [contact EXCEPT !.metadataOffset = Undefined] ELSE contact

(* fenced-forgets-stop: who is fenced is no longer about to stop.           *)
NoStop(contact) ==
  IF "fenced-forgets-stop" \in Entries
  THEN [contact EXCEPT !.shutdownOffset = Undefined] ELSE contact

(* stop-is-soft: whether a broker is about to stop is not asked of its      *)
(* registration, and is forgotten when another controller takes over.       *)
IsSoft == "stop-is-soft" \in Entries
Stops(row, b) ==
  IF IsSoft THEN row.contacts[b].shutdownOffset # Undefined ELSE row.registrations[b].stopping
Working(row) ==
  IF IsSoft THEN {b \in Brokers : ~row.registrations[b].fenced /\ ~Stops(row, b)}
  ELSE Active(row)

(* session-with-heartbeat: a session begins with the first heartbeat.       *)
LivesAtOnce == "session-with-heartbeat" \notin Entries

(* session-of-unfenced: it continues with another controller only if the    *)
(* broker is unfenced.                                                      *)
LivesOn == "session-of-unfenced" \notin Entries

(* fenced-again: who is fenced is fenced by a record once more when its     *)
(* session ends, or it stops.                                               *)
FencesAgain == "fenced-again" \in Entries

Kafka_Fence(row, b, contact, replies) ==
  UNION {LET fenced == [row.registrations[b] EXCEPT !.fenced = TRUE]
         IN Committed([row EXCEPT !.partition = partition, !.registrations[b] = fenced,
                                  !.contacts[b] = NoStop(Replayed(contact))],
              PartitionRecords(row.partition, partition) \o <<BrokerRecord(b, fenced)>>,
              replies) :
         partition \in AfterFencing(row, b)}

Kafka_Unfence(row, b, contact, replies) ==
  UNION {LET unfenced == [row.registrations[b] EXCEPT !.fenced = FALSE]
         IN Committed([row EXCEPT !.partition = partition, !.registrations[b] = unfenced,
                                  !.contacts[b] = Replayed(contact)],
              <<BrokerRecord(b, unfenced)>> \o PartitionRecords(row.partition, partition),
              replies) :
         partition \in AfterUnfencing(row, b)}

Kafka_EnterControlledShutdown(row, b, contact, replies) ==
  UNION {LET known == row.registrations[b].stopping
             stopping == [row.registrations[b] EXCEPT !.stopping = TRUE]
             records == (IF known THEN <<>> ELSE <<BrokerRecord(b, stopping)>>)
                          \o PartitionRecords(row.partition, partition)
             noted == [(IF known THEN contact ELSE Replayed(contact))
                         EXCEPT !.shutdownOffset = row.offset + Len(records)]
         IN Committed([row EXCEPT !.partition = partition, !.registrations[b] = stopping,
                                  !.contacts[b] = noted], records, replies) :
         partition \in AfterFencing(row, b)}

Kafka_NextControlState(row, m) ==
  LET b == m.source
      registration == row.registrations[b]
      leads == row.partition.leader = b
  IN CASE registration.fenced /\ m.wantShutDown -> "SHUTDOWN_NOW"
       [] registration.fenced /\ ~m.wantFence /\ IsCaughtUpWithRegistration(registration, m) ->
            "UNFENCED"
       [] registration.fenced -> "FENCED"
       [] Stops(row, b) ->
            IF ~leads /\ MayShutDown(row.contacts, Working(row), b)
            THEN "SHUTDOWN_NOW" ELSE "CONTROLLED_SHUTDOWN"
       [] m.wantFence -> IF m.wantShutDown THEN "SHUTDOWN_NOW" ELSE "FENCED"
       [] m.wantShutDown -> IF leads THEN "CONTROLLED_SHUTDOWN" ELSE "SHUTDOWN_NOW"
       [] OTHER -> "UNFENCED"

Kafka_HandleHeartbeatRequest(c, row, m) ==
  LET b == m.source
      registration == row.registrations[b]
      next == NextControlState(row, m)
      contact == [row.contacts[b] EXCEPT !.live = TRUE, !.metadataOffset = m.metadataOffset]
      reply == {HeartbeatResponse(m, "NONE", IsCaughtUpWithRegistration(registration, m),
                                  next \in {"FENCED", "SHUTDOWN_NOW"},
                                  next = "SHUTDOWN_NOW")}
      again == FencesAgain /\ next = "SHUTDOWN_NOW"
  IN CASE IsStaleBrokerEpoch(registration, m.brokerEpoch) ->
            Outcome(row, {HeartbeatResponse(m, "STALE_BROKER_EPOCH", FALSE, FALSE, FALSE)})
       [] next \in {"FENCED", "SHUTDOWN_NOW"} /\ (~registration.fenced \/ again) ->
            Fence(row, b, contact, reply)
       [] next = "UNFENCED" /\ registration.fenced -> Unfence(row, b, contact, reply)
       [] next = "CONTROLLED_SHUTDOWN" /\ ~Stops(row, b) ->
            EnterControlledShutdown(row, b, contact, reply)
       [] OTHER -> Outcome([row EXCEPT !.contacts[b] = contact], reply)

Kafka_HandleSessionTimeout(c, row, input) ==
  LET b == input.broker
      silent == [row.contacts[b] EXCEPT !.live = FALSE]
  IN CASE ~row.contacts[b].live \/ row.registrations[b].epoch = Undefined -> Disabled
       [] row.registrations[b].fenced /\ ~FencesAgain ->
            Outcome([row EXCEPT !.contacts[b] = silent], {})
       [] OTHER -> Fence(row, b, silent, {})

Kafka_RegisterAnew(row, m) ==
  LET b == m.source
      old == row.registrations[b]
      after == IF IsUncleanRestart(old, m) THEN AfterUncleanRestart(row, b)
               ELSE {row.partition}
  IN UNION {LET change == PartitionRecords(row.partition, partition)
                new == [epoch |-> row.offset, incarnation |-> m.incarnation,
                        recordOffset |-> row.offset + Len(change),
                        fenced |-> TRUE, stopping |-> FALSE]
            IN Committed(
                 [row EXCEPT !.partition = partition, !.registrations[b] = new,
                             !.contacts[b] = [live |-> LivesAtOnce,
                                              metadataOffset |-> Undefined,
                                              shutdownOffset |-> Undefined]],
                 change \o <<BrokerRecord(b, new)>>,
                 {RegisterBrokerResponse(m, "NONE", new.epoch)}) :
            partition \in after}

Kafka_AmendRegistration(row, m) ==
  LET b == m.source
      amended == [row.registrations[b] EXCEPT !.recordOffset = row.offset]
      old == Replayed(row.contacts[b])
      contact == [old EXCEPT !.live = @ \/ LivesAtOnce,
                             !.shutdownOffset = IF IsSoft THEN Undefined ELSE @]
  IN Committed([row EXCEPT !.registrations[b] = amended, !.contacts[b] = contact],
       <<BrokerRecord(b, amended)>>, {RegisterBrokerResponse(m, "NONE", amended.epoch)})

Kafka_HandleControllerFailover(c, row, input) ==
  Outcome([row EXCEPT !.contacts = [b \in Brokers |->
             [live |-> LivesOn \/ ~row.registrations[b].fenced,
              metadataOffset |-> Undefined,
              shutdownOffset |-> IF row.registrations[b].stopping /\ ~IsSoft
                                 THEN row.offset ELSE Undefined]]], {})
=============================================================================
