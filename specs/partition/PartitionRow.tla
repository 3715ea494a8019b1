---------------------------- MODULE PartitionRow ----------------------------
(***************************************************************************)
(* A broker's row, as far as one partition is concerned, and what all its   *)
(* handlers share: outcomes, requests, and the high watermark's advance.    *)
(* Handlers are in IsrMembership, HighWatermark and BrokerLifecycle; their  *)
(* Python twin is reference/partition/broker.py.                            *)
(*                                                                          *)
(* Shape.  One handler is one operator Step_A(n, row, input) whose value is *)
(* the set of allowed outcomes [row, sent, ignored], as in QuorumHandlers.  *)
(*                                                                          *)
(* Sending is a step of its own (HandleSend...): what a broker is about to  *)
(* ask is decided in one step and sent in a later one, as in Kafka, where   *)
(* fetcher threads and the channel to the controller have their own pace.   *)
(***************************************************************************)
EXTENDS PartitionRules

(***************************************************************************)
(* The broker-common part of the row:                                       *)
(*   status            Starting, Running, ShuttingDown, Down                *)
(*   incarnation       counts starts; stands for Kafka's random id          *)
(*   brokerEpoch       of this incarnation, -1 until registered             *)
(*   previousEpoch     what the clean-shutdown file said at start           *)
(*   cleanShutdown     durable: .kafka_cleanshutdown, -1 when absent        *)
(*   image             the metadata that was applied: offset, brokers,      *)
(*                     partition                                            *)
(*   controllerRequest, alterRequest   in flight to the controller          *)
(* The partition's part:                                                    *)
(*   log, logStart     durable up to `flushed`                              *)
(*   flushed                                                                *)
(*   corrupt           durable: offset of the first bad batch, or -1        *)
(*   epochCache        durable: leader-epoch-checkpoint                     *)
(*   checkpoint        durable: replication-offset-checkpoint               *)
(*   producers         producer state                                       *)
(*   highWatermark                                                          *)
(*   role              None, Leader, Follower                               *)
(*   leader, leaderEpoch, partitionEpoch    as this replica knows them      *)
(*   epochStart        leader: where its epoch begins                       *)
(*   isr, pending      leader: the committed ISR, and the proposed change   *)
(*   remotes           leader: its state of each other replica              *)
(*   parked            leader: requests that wait (purgatory), to produce   *)
(*                     and to delete records                                *)
(*   lastFetchedEpoch  follower: kept apart from the cache (KAFKA-15510)    *)
(*   fetching          follower: fetches in flight, one for each leader     *)
(***************************************************************************)

UnknownRemote ==
  [endOffset |-> Undefined, brokerEpoch |-> Undefined, caughtUp |-> FALSE, logStart |-> 0]
NoRemotes == [b \in Brokers |-> UnknownRemote]

(* A cluster begins registered and unfenced, with one partition whose       *)
(* replicas are all in sync.  The records that say so are the first of the  *)
(* metadata log.                                                            *)
InitialOffset == 1
InitialPartition ==
  [leader |-> Nobody, leaderEpoch |-> 0, partitionEpoch |-> 0, isr |-> Brokers, elr |-> {},
   lastKnownLeader |-> Nobody, recovering |-> FALSE]
InitialImage ==
  [offset |-> InitialOffset,
   brokers |-> [b \in Brokers |-> [epoch |-> 0, fenced |-> FALSE, stopping |-> FALSE]],
   partition |-> InitialPartition]

InitialRow(n) ==
  [status |-> "Running", incarnation |-> 0, brokerEpoch |-> 0, previousEpoch |-> Undefined,
   cleanShutdown |-> Undefined, image |-> InitialImage,
   controllerRequest |-> NoRequest, alterRequest |-> NoRequest,
   log |-> <<>>, logStart |-> 0, flushed |-> 0, corrupt |-> Undefined, epochCache |-> <<>>,
   checkpoint |-> 0, producers |-> {}, highWatermark |-> 0,
   role |-> "Follower", leader |-> Nobody, leaderEpoch |-> 0, partitionEpoch |-> 0,
   epochStart |-> Undefined, isr |-> {}, pending |-> NoPending, remotes |-> NoRemotes,
   parked |-> {}, lastFetchedEpoch |-> Undefined, fetching |-> {}]

IsUp(row) == row.status # "Down"
IsLeader(row) == IsUp(row) /\ row.role = "Leader"

-----------------------------------------------------------------------------
(* Outcomes.                                                                *)

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignore(row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}
Disabled == {}

-----------------------------------------------------------------------------
(* Requests in the purgatory: P19, S9.                                      *)

ProduceResponse(n, request, error, offset) ==
  [type |-> "ProduceResponse", source |-> n, destination |-> Clients, request |-> request,
   error |-> error, offset |-> offset]

DeleteRecordsResponse(n, m, error, offset) ==
  [type |-> "DeleteRecordsResponse", source |-> n, destination |-> Clients, request |-> m,
   error |-> error, offset |-> offset]

Deletes(waiting) == waiting.request.type = "DeleteRecordsRequest"

ParkedResponse(n, waiting, error) ==
  LET offset == IF error = "NONE" THEN waiting.offset ELSE Undefined
  IN IF Deletes(waiting) THEN DeleteRecordsResponse(n, waiting.request, error, offset)
     ELSE ProduceResponse(n, waiting.request, error, offset)

(* P19, S9.  By the high watermark, or by the low one.                      *)
IsReached(row, waiting) ==
  waiting.required <= IF Deletes(waiting) THEN LowWatermark(row) ELSE row.highWatermark
Reached(row) == {p \in row.parked : IsReached(row, p)}
ReachedError(row, waiting) == IF Deletes(waiting) THEN "NONE" ELSE ParkedError(row)

(* A watermark has moved: requests that waited for it are answered.         *)
ReachedResponses(n, row) ==
  {ParkedResponse(n, p, ReachedError(row, p)) : p \in Reached(row)}
WithoutReached(row) == [row EXCEPT !.parked = @ \ Reached(row)]

(* Leadership is lost: waiting requests get an error.                       *)
FailedResponses(n, row) ==
  {ParkedResponse(n, p, "NOT_LEADER_OR_FOLLOWER") : p \in row.parked}

-----------------------------------------------------------------------------
(* P6.  The high watermark is tried, and never goes back on a leader.       *)

Advanced(n, row) ==
  LET bound == HighWatermarkBound(n, row)
  IN IF EnoughInSync(row) /\ bound > row.highWatermark
     THEN [row EXCEPT !.highWatermark = bound] ELSE row

(* The outcome of a leader's step that may have moved its high watermark.   *)
AdvanceAndFinish(n, row, sent) ==
  LET advanced == Advanced(n, row)
  IN Outcome(WithoutReached(advanced), sent \cup ReachedResponses(n, advanced))
=============================================================================
