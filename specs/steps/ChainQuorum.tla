---------------------------- MODULE ChainQuorum -----------------------------
(***************************************************************************)
(* The frame in which partly logged steps of voters are judged.  StepQuorum *)
(* says what is allowed; here stands what a hidden field of an input may    *)
(* have been.  The sets are finite, and enough: whatever lies outside has   *)
(* the effect of something inside.  Handlers compare numbers and look at    *)
(* nothing else of them, so it takes one number on each side of those that  *)
(* they are compared with, and every number that the trace has elsewhere.   *)
(* Two sets are not enough, and cut[] in traces/foreign/chain.py knows it:  *)
(* an epoch that a row may have kept unseen, and records likewise.          *)
(***************************************************************************)
EXTENDS StepQuorum

CONSTANT Logged     \* field -> the values that the trace has under this name

(* Numbers below -1 are not considered: nothing in Kafka makes them.        *)
UpTo(number) == Undefined..number

EpochsAround(row) == UpTo(row.epoch + 1) \cup {e + 1 : e \in Logged["epoch"]}

(* A response counts if it answers the request in flight; any other request *)
(* is as good as another (AnswersInFlight).                                 *)
RequestsOf(n, row, input) ==
  IF input.type = "FetchMaxWait" THEN row.parked
  ELSE {RequestInFlight(n, row, input.source), [type |-> "Another"]}

(* Records go to the end of the log, where they can be seen if it is logged.*)
RecordsSeen(row, after) ==
  IF "log" \in DOMAIN after /\ Len(after.log) > Len(row.log)
  THEN {<<>>, SubSeq(after.log, Len(row.log) + 1, Len(after.log))}
  ELSE {<<>>}

Divergences(row) ==
  {NoDivergence} \cup
  [epoch : 0..(LastFetchedEpoch(row) + 1), endOffset : UpTo(EndOffset(row.log) + 1)]

Unlogged(n, row, input, after, field) ==
  CASE field = "source" -> Others(n)
    [] field = "peer" -> Others(n)
    [] field = "leader" -> Voters \cup {Nobody}
    [] field \in {"granted", "preVote"} -> BOOLEAN
    [] field = "error" -> {"NONE", "INVALID_REQUEST", "FENCED_LEADER_EPOCH",
                           "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
    [] field = "epoch" -> EpochsAround(row)
    [] field \in {"lastEpoch", "lastFetchedEpoch"} -> UpTo(input.epoch + 1)
    [] field \in {"lastOffset", "fetchOffset"} -> UpTo(EndOffset(row.log) + 1)
    [] field = "highWatermark" -> UpTo(EndOffset(row.log) + FetchMaxRecords)
    [] field = "keep" -> row.flushed..EndOffset(row.log)
    [] field = "successors" -> {<<>>}
    [] field = "records" -> RecordsSeen(row, after)
    [] field = "diverging" -> Divergences(row)
    [] field = "request" -> RequestsOf(n, row, input)
    [] field = "value" -> {}

Hidden(n, row, input, after, field) ==
  Unlogged(n, row, input, after, field)
  \cup (IF field \in DOMAIN Logged /\ field # "request" THEN Logged[field] ELSE {})

(* A node that is down receives no message (KRaftElection, LiftMessages).   *)
MayTake(row, input) == "destination" \notin DOMAIN input \/ Running(row)

INSTANCE PartialSteps
=============================================================================
