--------------------------- MODULE Quorum41Turns ----------------------------
(***************************************************************************)
(* The quorum since 4.1 in Kafka's turns, so that Kafka's classes can be    *)
(* taken through a whole graph: what a leader appends it flushes in the     *)
(* same step, and who learnt nothing from an answer asks again at once.     *)
(* Both are grain (profiles/kafka-4.3.toml): steps of the quorum's graph    *)
(* without a rest between them.  Twin: reference/quorum/turns.py.           *)
(***************************************************************************)
EXTENDS QuorumInputs, Quorum41

Turn_BackOff(row, m) == Answered(row, m)

Turn_BecomeLeader(n, row) ==
  LET start == EndOffset(row.log)
      leader == EnterRole(row, "Leader", row.epoch, n, row.voted)
  IN [leader EXCEPT
        !.epochStart = start,
        !.epochCache = CacheAssign(row.epochCache, row.epoch, start),
        !.log = Append(row.log, [epoch |-> row.epoch, value |-> LeaderChange]),
        !.flushed = start + 1,
        !.highWatermark = Undefined]

Turn_HandleAppend(n, row, input) ==
  LET longer == [row EXCEPT
        !.log = Append(@, [epoch |-> row.epoch, value |-> input.value]),
        !.flushed = EndOffset(row.log) + 1]
      counted == AdvanceHighWatermark(n, longer)
      told == Told(row, counted)
  IN CASE ~Running(row) -> {}
       [] row.role # "Leader" -> Ignore(n, row, "NotLeader")
       [] OTHER -> Finish(n, row, [counted EXCEPT !.parked = @ \ told],
                     {FetchAnswer(counted, m) : m \in told})
=============================================================================
