---------------------------- MODULE ChainQuorum -----------------------------
(***************************************************************************)
(* The frame in which partly logged steps of voters are judged.  What is    *)
(* allowed the handlers say; here stands what a hidden field of an input may *)
(* have been.  The sets are finite, and enough: whatever lies outside has   *)
(* the effect of something inside.  Handlers compare numbers and look at    *)
(* nothing else of them, so it takes one number on each side of those that  *)
(* they are compared with, and every number that the trace has elsewhere.   *)
(* Two sets are not enough, and traces/foreign/hidden.py knows it:          *)
(* an epoch that a row may have kept unseen, and records likewise.          *)
(***************************************************************************)
EXTENDS QuorumHandlers

CONSTANT Logged     \* field -> the values that the trace has under this name

(* Numbers below -1 are not considered: nothing in Kafka makes them.        *)
UpTo(number) == Undefined..number

Known(field) == IF field \in DOMAIN Logged THEN Logged[field] ELSE {}

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

(* A response of another epoch, with an error, or to another request is not *)
(* used, so that what it carries does not matter.                           *)
IsUsed(row, input) ==
  input.error = "NONE" /\ input.epoch = row.epoch /\ input.request.type # "Another"

Carried(n, row, input, after, field) ==
  CASE ~IsUsed(row, input) /\ field = "granted" -> {FALSE}
    [] ~IsUsed(row, input) /\ field = "diverging" -> {NoDivergence}
    [] ~IsUsed(row, input) /\ field = "records" -> {<<>>}
    [] ~IsUsed(row, input) /\ field = "highWatermark" -> {Undefined}
    [] field = "granted" -> BOOLEAN
    [] field = "diverging" -> Divergences(row) \cup Known("diverging")
    [] input.diverging # NoDivergence /\ field = "records" -> {<<>>}
    [] input.diverging # NoDivergence /\ field = "highWatermark" -> {Undefined}
    [] field = "records" -> RecordsSeen(row, after) \cup Known("records")
    [] field = "highWatermark" ->
         UpTo(EndOffset(row.log) + FetchMaxRecords) \cup Known("highWatermark")

Hidden(n, row, input, after, field) ==
  CASE field = "source" -> Others(n)
    [] field = "peer" -> Others(n)
    [] field = "leader" -> Voters \cup {Nobody}
    [] field = "preVote" -> BOOLEAN
    [] field = "error" -> {"NONE", "INVALID_REQUEST", "FENCED_LEADER_EPOCH",
                           "UNKNOWN_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
    [] field = "epoch" -> UpTo(row.epoch + 1) \cup Known("epoch") \cup
                          {e + 1 : e \in Known("epoch")}
    [] field \in {"lastEpoch", "lastFetchedEpoch"} ->
         UpTo(input.epoch + 1) \cup Known("epoch")
    [] field \in {"lastOffset", "fetchOffset"} ->
         UpTo(EndOffset(row.log) + 1) \cup Known("fetchOffset")
    [] field = "keep" -> row.flushed..EndOffset(row.log)
    [] field = "successors" -> {<<>>} \cup Known("successors")
    [] field = "request" -> RequestsOf(n, row, input)
    [] field = "value" -> Known("value")
    [] OTHER -> Carried(n, row, input, after, field)

(* A node that is down receives no message (KRaftElection, LiftMessages).   *)
MayTake(row, input) == "destination" \notin DOMAIN input \/ Running(row)
=============================================================================
