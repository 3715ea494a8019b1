------------------------ MODULE MCPartitionReduced -------------------------
(***************************************************************************)
(* The reduced composition of a partition's handlers, for larger bounds:    *)
(* the same handlers, with less around them (docs/reference/reductions.md   *)
(* argues for each reduction; tests compare with MCPartition where both     *)
(* complete).                                                               *)
(*                                                                          *)
(*  1. A request is served from its sender's present row: a follower owes   *)
(*     its fetch, a leader its proposal.  KeepOld: also what a sender asked *)
(*     before it changed its mind may still arrive.                         *)
(*  2. One response rests in the network for each sender, until it is used  *)
(*     or the next request is served (AtomicFetch: a fetch is used at once, *)
(*     or lost).                                                            *)
(*  3. Metadata.  A broker has a queue of the images that it has not read;  *)
(*     what it would not notice is left out of an image, and an image that  *)
(*     would change nothing is read at once.                                *)
(*  4. Heartbeats and registrations are one action, with their replies; so  *)
(*     are a crash and the restart after it, and a registration and the     *)
(*     metadata up to it.                                                   *)
(*  5. Nothing is flushed, so that a crash may lose anything; a checkpoint  *)
(*     may have any age.                                                    *)
(*  6. Only the order of partition epochs is kept, and an end offset below  *)
(*     the high watermark is as good as unknown.                            *)
(*                                                                          *)
(* A state is normal when it is the representative of all that differ in    *)
(* what no handler can notice.  TLCEval(f) is f: TLC would otherwise        *)
(* evaluate a function for each of its uses within a step.                  *)
(***************************************************************************)
EXTENDS PartitionProperties, TLC

CONSTANTS
  b1, b2, b3,
  MaxLeaderEpoch, MaxRecords,
  MaxCrashes,
  Lossy,               \* a crash may lose any part of the log
  Torn,                \* ... and leave a bad batch in what is left
  MaxFences,           \* sessions of running brokers that time out
  Planned,             \* elections may be requested
  MaxStops,            \* clean stops
  MaxDeletes,          \* DeleteRecords
  Idempotent,          \* one idempotent producer, values are its sequence
  MaxRetries,          \* values that are sent again
  AcksAll,             \* what clients ask for: acks=all, or 1
  Folding,             \* several changes of metadata may be read as one
  AtomicFetch,
  KeepCaughtUp,        \* FALSE: a replica is caught up only where it is at the end
  KeepParked,          \* the purgatory, and with it who was acked
  KeepOld              \* what may arrive late: "Fetch", "FetchResponse", "Alter" (a
                       \* proposal that metadata overtook), "AlterAgain" (and answered ones);
                       \* "Apart": records of one change of metadata may be read apart

VARIABLE spent

mcVars == <<rows, controller, metadata, network, committed, acked, spent>>

(* For cfgs.                                                                *)
One == <<b1>>
Two == <<b1, b2>>
Three == <<b1, b2, b3>>
Symmetry == Permutations(Brokers)
AnyChoice(candidates) == candidates
AnyOtherChoice(partition, valid) == valid \ {partition.leader}
NoBroker == -9
(* For bugs that need no change of the ISR: nobody leaves it as too slow.   *)
NobodyLags(row, r) == FALSE
(* For a bug that needs two changes of leader, there and back, and a third  *)
(* replica that is too slow in between.                                     *)
ThereAndBack(partition, valid) ==
  valid \cap {IF partition.leader = Replicas[1] THEN Replicas[2] ELSE Replicas[1]}
LastLagsInBetween(row, r) ==
  /\ row.leader = Replicas[2] /\ r = Replicas[3]
  /\ row.remotes[r].endOffset # EndOffset(row.log)

Initially == [b \in Brokers |-> [epoch |-> 0, fenced |-> FALSE, stopping |-> FALSE]]

-----------------------------------------------------------------------------
(* A state as one value; actions say which states may follow.               *)

Now == [rows |-> rows, controller |-> controller, unread |-> metadata, network |-> network,
        acked |-> {}]

-----------------------------------------------------------------------------
(* Metadata: what n can notice of an image.                                 *)

(* An image that makes n nothing but a follower.                            *)
FollowerImage(partition) ==
  [brokers |-> Initially,
   partition |-> [InitialPartition EXCEPT !.leader = partition.leader,
                    !.leaderEpoch = partition.leaderEpoch, !.partitionEpoch = 0, !.isr = {}]]

Noticed(n, image) ==
  IF image.partition.leader = n
  THEN [brokers |-> image.brokers,
        partition |-> [image.partition EXCEPT !.elr = {}, !.lastKnownLeader = Nobody,
                                              !.recovering = FALSE]]
  ELSE FollowerImage(image.partition)

ImageOf(c) ==
  [brokers |-> TLCEval([b \in Brokers |-> [epoch |-> c.registrations[b].epoch,
                                           fenced |-> c.registrations[b].fenced,
                                           stopping |-> c.registrations[b].stopping]]),
   partition |-> c.partition]

AppendedImage(n, queue, image) ==
  LET seen == Noticed(n, image)
  IN IF queue # <<>> /\ queue[Len(queue)] = seen THEN queue ELSE Append(queue, seen)

(* n reads an image: the record of the partition, if it is news.            *)
Reads(n, row, image) ==
  LET told == [row EXCEPT !.image.brokers = image.brokers]
      \* Another leader is always news to a leader.
      partition == IF image.partition.leader = n THEN image.partition
                   ELSE [image.partition EXCEPT !.partitionEpoch = row.partitionEpoch + 1]
  IN IF image.partition = row.image.partition
     THEN Outcome(told, {})
     ELSE Step_HandleMetadataUpdate(n, told,
            [type |-> "MetadataUpdate", offset |-> row.image.offset,
             records |-> <<PartitionRecord(partition)>>])

-----------------------------------------------------------------------------
(* The normal form of a row.                                                *)

NormalRemote(row, remote) ==
  [remote EXCEPT
     !.endOffset = IF @ < row.highWatermark THEN Undefined ELSE @,
     !.caughtUp = KeepCaughtUp /\ @]

NormalRow(n, row) ==
  LET common == [row EXCEPT
        !.image.offset = InitialOffset, !.controllerRequest = NoRequest,
        !.alterRequest = NoRequest, !.flushed = row.logStart, !.checkpoint = row.logStart,
        !.fetching = {}, !.parked = IF KeepParked THEN @ ELSE {},
        !.previousEpoch = IF row.brokerEpoch = Undefined THEN @ ELSE Undefined]
  IN CASE ~IsUp(row) -> row
       [] row.role = "Leader" ->
            [common EXCEPT
               !.image.partition = Noticed(n, row.image).partition,
               !.remotes = TLCEval([b \in Brokers |-> NormalRemote(row, @[b])])]
       [] OTHER ->
            [common EXCEPT
               !.partitionEpoch = Undefined, !.image.brokers = Initially,
               !.image.partition =
                 FollowerImage([leader |-> row.leader, leaderEpoch |-> row.leaderEpoch]).partition]

(* An image without news about the partition for a leader.                  *)
IsOldNews(row, image) ==
  row.role = "Leader" =>
    /\ image.partition.leader = row.leader
    /\ \/ image.partition.partitionEpoch < row.partitionEpoch
       \/ ~ClearsPending(row, image.partition)

(* Of several such images that name the same brokers the last one stays.    *)
RECURSIVE Compacted(_, _)
Compacted(row, queue) ==
  IF Len(queue) < 2 \/ row.role # "Leader" THEN queue
  ELSE IF /\ IsOldNews(row, queue[1]) /\ IsOldNews(row, queue[2])
          /\ queue[1].brokers = queue[2].brokers
       THEN Compacted(row, Tail(queue))
       ELSE <<queue[1]>> \o Compacted(row, Tail(queue))

(* The head of the queue is read at once if that changes nothing else, and  *)
(* would not later either.                                                  *)
RECURSIVE Caught(_, _, _)
Caught(n, row, queue) ==
  IF queue = <<>> \/ row.role = "None" THEN [row |-> row, queue |-> queue]
  ELSE LET read == {NormalRow(n, o.row) : o \in Reads(n, row, queue[1])}
           same == {r \in read : /\ IsOldNews(row, queue[1])
                                 /\ queue[1].brokers = row.image.brokers
                                 /\ r = [row EXCEPT !.image = r.image]}
       IN IF same = {} THEN [row |-> row, queue |-> queue]
          ELSE Caught(n, CHOOSE r \in same : TRUE, Tail(queue))

-----------------------------------------------------------------------------
(* Messages in flight.                                                      *)

FetchOf(n, row) == ReplicaFetchRequest(n, row)

Owes(row) == IsUp(row) /\ row.role = "Follower" /\ row.leader # Nobody

(* How n uses the response to its fetch.                                    *)
Using(n, row, m) ==
  Step_HandleReplicaFetchResponse(n, [row EXCEPT !.fetching = {m.request}], m)

AlterOf(n, row) == AlterPartitionRequest(n, row)

UsingAlter(n, row, m) ==
  Step_HandleAlterPartitionResponse(n, [row EXCEPT !.alterRequest = m.request], m)

(* Whether m could still change anything.                                   *)
Matters(s, m) ==
  LET row == s.rows[m.destination] IN
  CASE m.type = "ReplicaFetchResponse" ->
         /\ IsUp(row)
         /\ "FetchResponse" \in KeepOld \/ (Owes(row) /\ m.request = FetchOf(m.destination, row))
         /\ {NormalRow(m.destination, o.row) : o \in Using(m.destination, row, m)} # {row}
    [] m.type = "AlterPartitionResponse" ->
         /\ IsLeader(row) /\ m.request = AlterOf(m.destination, row)
         /\ {NormalRow(m.destination, o.row) : o \in UsingAlter(m.destination, row, m)} # {row}
    [] m.type = "ReplicaFetchRequest" ->
         /\ IsUp(row)
         /\ FencedFetchMayExpandIsr \/ FetchEpochError(row, m) # "FENCED_LEADER_EPOCH"
         /\ row.role = "Leader" => ~IsStaleReplica(row, m)
         /\ ~(Owes(s.rows[m.source]) /\ m = FetchOf(m.source, s.rows[m.source]))

(* ... and whether an old AlterPartition could.                             *)
IsDoomed(c, m) ==
  \/ IsStaleBrokerEpoch(c.registrations[m.source], m.brokerEpoch)
  \/ AlterPartitionError(c, m) \in {"FENCED_LEADER_EPOCH", "INVALID_UPDATE_VERSION",
                                    "INVALID_REQUEST"}

Stays(s, m) ==
  IF m.type = "AlterPartitionRequest" THEN ~IsDoomed(s.controller, m) ELSE Matters(s, m)

-----------------------------------------------------------------------------
(* The normal form of a state.                                              *)

NormalController(c) ==
  [c EXCEPT
     !.offset = InitialOffset,
     !.contacts = TLCEval([b \in Brokers |->
        [live |-> ~c.registrations[b].fenced, metadataOffset |-> InitialOffset,
         shutdownOffset |-> InitialOffset]]),
     !.registrations = TLCEval([b \in Brokers |-> [@[b] EXCEPT !.recordOffset = 0]])]

(* A proposal that will be refused for good might as well have been.        *)
WithRefusal(n, row, c) ==
  IF IsLeader(row) /\ row.pending # NoPending /\ IsDoomed(c, AlterOf(n, row))
  THEN [row EXCEPT !.pending.refused = TRUE] ELSE row

EpochsIn(s) ==
  {s.controller.partition.partitionEpoch}
  \cup {s.rows[n].partitionEpoch : n \in Brokers}
  \cup {s.rows[n].image.partition.partitionEpoch : n \in Brokers}
  \cup UNION {{s.unread[n][i].partition.partitionEpoch : i \in 1..Len(s.unread[n])} :
              n \in Brokers}
  \cup UNION {IF m.type = "AlterPartitionRequest" THEN {m.partitionEpoch}
              ELSE IF m.type = "AlterPartitionResponse"
              THEN {m.partitionEpoch, m.request.partitionEpoch} ELSE {} : m \in s.network}

Ranked(s) ==
  LET epochs == EpochsIn(s) \ {Undefined}
      rank(e) == IF e = Undefined THEN e ELSE Cardinality({x \in epochs : x < e})
      row(r) == [r EXCEPT !.partitionEpoch = rank(@), !.image.partition.partitionEpoch = rank(@)]
      message(m) ==
        CASE m.type = "AlterPartitionRequest" -> [m EXCEPT !.partitionEpoch = rank(@)]
          [] m.type = "AlterPartitionResponse" ->
               [m EXCEPT !.partitionEpoch = rank(@), !.request.partitionEpoch = rank(@)]
          [] OTHER -> m
  IN IF \A e \in epochs : e < Cardinality(epochs) THEN s
     ELSE [s EXCEPT
        !.controller.partition.partitionEpoch = rank(@),
        !.rows = TLCEval([n \in Brokers |-> row(@[n])]),
        !.unread = TLCEval([n \in Brokers |->
           [i \in 1..Len(@[n]) |-> [@[n][i] EXCEPT !.partition.partitionEpoch = rank(@)]]]),
        !.network = {message(m) : m \in @}]

(* `same`: the brokers for which s is normal already.                       *)
NormalExcept(s, same) ==
  LET c == NormalController(s.controller)
      row(n) == WithRefusal(n, NormalRow(n, s.rows[n]), c)
      caught == TLCEval([n \in Brokers |->
        IF n \in same THEN [row |-> s.rows[n], queue |-> s.unread[n]]
        ELSE Caught(n, row(n), Compacted(row(n), s.unread[n]))])
      settled == [s EXCEPT !.controller = c,
                           !.rows = TLCEval([n \in Brokers |-> caught[n].row]),
                           !.unread = TLCEval([n \in Brokers |-> caught[n].queue])]
  IN Ranked([settled EXCEPT !.network = {m \in @ : Stays(settled, m)}])

(* States follow normal states: whom a step leaves alone is normal still.   *)
Normal(s) ==
  NormalExcept(s, IF s.controller # controller THEN {}
                  ELSE {n \in Brokers : s.rows[n] = rows[n] /\ s.unread[n] = metadata[n]})

-----------------------------------------------------------------------------
(* Steps, as the sets of states that they may lead to.                      *)

Proposed(n, row) ==
  IF IsLeader(row) /\ MaySendAlterPartition(row) THEN {AlterOf(n, row)} ELSE {}

(* What n asked before this step may be on its way still.                   *)
Asked(n, row) ==
  (IF "Fetch" \in KeepOld /\ Owes(row) THEN {FetchOf(n, row)} ELSE {})
  \cup
  (IF "Alter" \in KeepOld THEN Proposed(n, row) ELSE {})

After(n, outcomes) ==
  {[Now EXCEPT !.rows[n] = o.row, !.acked = AckedIn(o.sent)] : o \in outcomes}

(* ... by which n may change its mind.                                      *)
AfterMoving(n, outcomes) ==
  {[s EXCEPT !.network = @ \cup Asked(n, rows[n])] : s \in After(n, outcomes)}

(* The controller commits: every broker that is registered will hear of it. *)
(* A change of both a broker and the partition is two records.              *)
Between(old, new, records) ==
  IF "Apart" \notin KeepOld \/ Len(records) < 2 THEN new
  ELSE IF records[1].kind = "Partition" THEN [old EXCEPT !.partition = new.partition]
  ELSE [old EXCEPT !.brokers = new.brokers]

WithController(s, o) ==
  LET old == ImageOf(s.controller)
      new == ImageOf(o.row)
      between == Between(old, new, AppendedTo(<<>>, o.sent))
  IN [s EXCEPT
        !.controller = o.row,
        !.unread = TLCEval([n \in Brokers |->
           IF new = old \/ s.rows[n].brokerEpoch = Undefined THEN @[n]
           ELSE AppendedImage(n, AppendedImage(n, @[n], between), new)])]

AfterController(outcomes) == {WithController(Now, o) : o \in outcomes}

(* Fetches.                                                                 *)
RepliesIn(o, type) == {m \in o.sent : m.type = type}

(* The next response replaces the one that rests.                           *)
Replaced(messages, type, n, replies) ==
  {m \in messages : ~(m.type = type /\ m.destination = n)} \cup replies

Served(m) == Step_HandleReplicaFetchRequest(m.destination, rows[m.destination], m)

AfterServing(m, o) ==
  LET s == [Now EXCEPT !.rows[m.destination] = o.row, !.acked = AckedIn(o.sent)]
      replies == RepliesIn(o, "ReplicaFetchResponse")
  IN CASE "FetchResponse" \in KeepOld -> {[s EXCEPT !.network = @ \cup replies]}
       [] AtomicFetch ->
            {s} \cup UNION {{[s EXCEPT !.rows[m.source] = used.row] :
                              used \in Using(m.source, rows[m.source], reply)} :
                             reply \in replies}
       [] OTHER -> {[s EXCEPT !.network = Replaced(@, "ReplicaFetchResponse", m.source, replies)]}

AfterFetch(n) ==
  IF ~Owes(rows[n]) \/ ~IsUp(rows[rows[n].leader]) THEN {}
  ELSE UNION {AfterServing(FetchOf(n, rows[n]), o) : o \in Served(FetchOf(n, rows[n]))}

AfterOldFetch(n) ==
  UNION {{[Now EXCEPT !.rows[n] = o.row, !.acked = AckedIn(o.sent)] : o \in Served(m)} :
         m \in {m \in network : m.type = "ReplicaFetchRequest" /\ m.destination = n}}

Arrived(type, n) == {m \in network : m.type = type /\ m.destination = n}

AfterResponse(n) ==
  UNION {{[s EXCEPT !.network = @ \ {m}] : s \in After(n, Using(n, rows[n], m))} :
         m \in Arrived("ReplicaFetchResponse", n)}

(* AlterPartition.                                                          *)
AlterServed(m) == Step_HandleAlterPartitionRequest(Controller, controller, m)

AfterAlter(n) ==
  LET m == AlterOf(n, rows[n]) IN
  IF ~IsLeader(rows[n]) \/ ~MaySendAlterPartition(rows[n]) THEN {}
  ELSE {[WithController(Now, o) EXCEPT
           !.network = Replaced(@, "AlterPartitionResponse", n,
                                RepliesIn(o, "AlterPartitionResponse"))] : o \in AlterServed(m)}

AfterOldAlter ==
  UNION {AfterController(AlterServed(m)) : m \in Arrived("AlterPartitionRequest", Controller)}

AfterAlterResponse(n) ==
  UNION {{[s EXCEPT !.network =
             (@ \ {m}) \cup IF "AlterAgain" \in KeepOld THEN {m.request} ELSE {}] :
            s \in After(n, UsingAlter(n, rows[n], m))} :
         m \in Arrived("AlterPartitionResponse", n)}

(* Metadata.                                                                *)
AfterReading(n) ==
  UNION {{[s EXCEPT !.unread[n] = SubSeq(@, k + 1, Len(@))] :
            s \in AfterMoving(n, Reads(n, rows[n], metadata[n][k]))} :
         k \in 1..(IF Folding THEN Len(metadata[n]) ELSE MinOf(1, Len(metadata[n])))}

(* What the leader does of itself.                                          *)
Produce(value) ==
  [type |-> "ProduceRequest", source |-> Clients, destination |-> Nobody,
   acks |-> IF AcksAll THEN -1 ELSE 1, values |-> <<value>>,
   producer |-> IF Idempotent THEN 1 ELSE Undefined,
   producerEpoch |-> IF Idempotent THEN 0 ELSE Undefined,
   sequence |-> IF Idempotent THEN value - 1 ELSE Undefined]

AfterProduce(n, value) ==
  IF ~IsLeader(rows[n]) THEN {}
  ELSE After(n, Step_HandleProduceRequest(n, rows[n], Produce(value)))

AfterLag(n) ==
  IF ~IsLeader(rows[n]) \/ ~KeepCaughtUp THEN {}
  ELSE UNION {After(n, Step_HandleReplicaLagTimeout(n, rows[n], [replica |-> r])) :
              r \in Brokers \ {n}}

AfterShrink(n) == After(n, Step_HandleIsrShrinkTimeout(n, rows[n], [type |-> "None"]))

AfterDelete(n) ==
  IF ~IsLeader(rows[n]) THEN {}
  ELSE After(n, Step_HandleDeleteRecordsRequest(n, rows[n],
               [type |-> "DeleteRecordsRequest", offset |-> rows[n].highWatermark]))

(* Sessions, elections.                                                     *)
IsRegistered(n) == rows[n].brokerEpoch # Undefined

AfterSilence(b) ==
  AfterController(Step_HandleSessionTimeout(Controller, controller, [broker |-> b]))

Heartbeats(b) ==
  Step_HandleHeartbeatRequest(Controller, controller, HeartbeatRequest(b, rows[b]))

AfterHeartbeat(b) ==
  CASE ~IsUp(rows[b]) \/ ~IsRegistered(b) -> {}
    [] rows[b].status = "ShuttingDown" ->
         UNION {LET s == WithController(Now, o) IN
                {s} \cup {[s EXCEPT !.rows[b] = used.row,
                                     !.unread[b] = IF IsUp(used.row) THEN @ ELSE <<>>,
                                     !.network = @ \cup Asked(b, rows[b])] :
                  used \in UNION {Step_HandleHeartbeatResponse(b,
                              [rows[b] EXCEPT !.controllerRequest = m.request], m) :
                              m \in RepliesIn(o, "HeartbeatResponse")}} :
                o \in Heartbeats(b)}
    [] OTHER -> AfterController(Heartbeats(b))

AfterElection(election) ==
  AfterController(Step_HandleElectLeaders(Controller, controller, [election |-> election]))

(* A crash and the restart after it.                                        *)
AfterCrash(n, keep, checkpoint, corrupt) ==
  {[s EXCEPT !.unread[n] = <<>>] :
     s \in AfterMoving(n,
       UNION {Step_HandleBrokerRestart(n, down.row, [type |-> "None"]) :
              down \in Step_HandleBrokerCrash(n, [rows[n] EXCEPT !.checkpoint = checkpoint],
                                             [keep |-> keep, corrupt |-> corrupt])})}

AfterStopping(n) == After(n, Step_HandleControlledShutdown(n, rows[n], [type |-> "None"]))

(* A broker registers, reads up to its registration, and runs.  Its epoch   *)
(* is the number of its incarnation instead of an offset.                   *)
Registering(n, row) ==
  {o \in Step_HandleRegisterBrokerRequest(Controller,
            [controller EXCEPT !.offset = row.incarnation], RegisterBrokerRequest(n, row)) :
     \A m \in RepliesIn(o, "RegisterBrokerResponse") : m.error = "NONE"}

Registered(n, row, o) ==
  UNION {Step_HandleRegisterBrokerResponse(n, [row EXCEPT !.controllerRequest = m.request], m) :
         m \in RepliesIn(o, "RegisterBrokerResponse")}

Started(n, row, image) ==
  LET waiting == [row EXCEPT !.image = [offset |-> InitialOffset, brokers |-> image.brokers,
                                        partition |-> image.partition]]
      asking == [waiting EXCEPT !.controllerRequest = HeartbeatRequest(n, waiting)]
  IN Step_HandleHeartbeatResponse(n, asking,
       [request |-> asking.controllerRequest, error |-> "NONE", isCaughtUp |-> TRUE,
        isFenced |-> TRUE, shouldShutDown |-> FALSE])

Restarted(n) ==
  IF IsUp(rows[n]) THEN {rows[n]}
  ELSE {o.row : o \in Step_HandleBrokerRestart(n, rows[n], [type |-> "None"])}

AfterJoining(n) ==
  IF IsRegistered(n) THEN {}
  ELSE UNION {UNION {UNION {{[WithController(Now, o) EXCEPT !.rows[n] = started.row] :
                               started \in Started(n, registered.row, ImageOf(o.row))} :
                            registered \in Registered(n, row, o)} :
                     o \in Registering(n, row)} :
              row \in Restarted(n)}

-----------------------------------------------------------------------------
(* Actions.                                                                 *)

Become(states) ==
  \E s \in {Normal(x) : x \in states} :
    /\ s.controller.partition.leaderEpoch <= MaxLeaderEpoch
    /\ rows' = s.rows /\ controller' = s.controller
    /\ metadata' = s.unread /\ network' = s.network
    /\ acked' = acked \cup s.acked
    /\ committed' = CommittedAfter(committed, s.rows)

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Fetch(n) == Become(AfterFetch(n))
OldFetch(n) == Become(AfterOldFetch(n))
FetchResponse(n) == Become(AfterResponse(n))
ReadMetadata(n) == Become(AfterReading(n))
Lag(n) == Become(AfterLag(n))
Shrink(n) == Become(AfterShrink(n))
Alter(n) == Become(AfterAlter(n))
OldAlter == Become(AfterOldAlter)
AlterResponse(n) == Become(AfterAlterResponse(n))
Heartbeat(n) == Become(AfterHeartbeat(n))
Join(n) == Become(AfterJoining(n))

(* The session of a broker that is gone times out.                          *)
FenceGone(n) == ~IsRegistered(n) /\ Become(AfterSilence(n))

Free(n) ==
  \/ Fetch(n) \/ OldFetch(n) \/ FetchResponse(n)
  \/ ReadMetadata(n)
  \/ Lag(n) \/ Shrink(n) \/ Alter(n) \/ AlterResponse(n)
  \/ Heartbeat(n) \/ Join(n) \/ FenceGone(n)

ProduceRecord(n) ==
  Spend("records", MaxRecords) /\ Become(AfterProduce(n, spent.records + 1))
Retry(n) ==
  /\ Spend("retries", MaxRetries)
  /\ \E value \in 1..spent.records : Become(AfterProduce(n, value))
LoseSession(n) == IsRegistered(n) /\ Spend("fences", MaxFences) /\ Become(AfterSilence(n))
Elect == Planned /\ Become(AfterElection("PREFERRED"))
Stop(n) == Spend("stops", MaxStops) /\ Become(AfterStopping(n))
Delete(n) == Spend("deletes", MaxDeletes) /\ Become(AfterDelete(n))

(* What a crash may leave.                                                  *)
Keeps(row) == (IF Lossy THEN row.logStart ELSE EndOffset(row.log))..EndOffset(row.log)
Corrupts(row, keep) == {Undefined} \cup (IF Torn THEN row.logStart..(keep - 1) ELSE {})

Crash(n) ==
  /\ IsRegistered(n) /\ Spend("crashes", MaxCrashes)
  /\ Become(UNION {AfterCrash(n, keep, checkpoint, corrupt) :
              <<keep, checkpoint, corrupt>> \in
                {<<k, h, c>> \in Keeps(rows[n]) \X (rows[n].logStart..rows[n].highWatermark)
                               \X (Offsets(rows[n].log)) : c \in Corrupts(rows[n], k)}})

Budgeted(n) ==
  ProduceRecord(n) \/ Retry(n) \/ LoseSession(n) \/ Crash(n) \/ Stop(n) \/ Delete(n)

Changed == <<rows, controller, metadata, network>>' # <<rows, controller, metadata, network>>

MCNext ==
  /\ \/ \E n \in Brokers : (UNCHANGED spent /\ Free(n)) \/ Budgeted(n)
     \/ UNCHANGED spent /\ (OldAlter \/ Elect)
  /\ Changed

(* The first leader is elected, and everybody has heard of it.              *)
Beginnings ==
  LET first == [rows |-> [n \in Brokers |-> InitialRow(n)], controller |-> InitialController,
                unread |-> [n \in Brokers |-> <<>>], network |-> {}, acked |-> {}]
      elected == {WithController(first, o) :
                    o \in Step_HandleElectLeaders(Controller, InitialController,
                                                 [election |-> "ONLINE"])}
      told(s, n) == CHOOSE o \in Reads(n, s.rows[n], s.unread[n][1]) : TRUE
  IN {NormalExcept([s EXCEPT !.rows = [n \in Brokers |-> told(s, n).row],
                             !.unread = [n \in Brokers |-> <<>>]], {}) : s \in elected}

MCInit ==
  /\ \E s \in Beginnings :
       /\ rows = s.rows /\ controller = s.controller
       /\ metadata = s.unread /\ network = s.network
  /\ HistoryInit
  /\ spent = [records |-> 0, crashes |-> 0, fences |-> 0, stops |-> 0, deletes |-> 0,
               retries |-> 0]

MCSpec == MCInit /\ [][MCNext]_mcVars
=============================================================================
