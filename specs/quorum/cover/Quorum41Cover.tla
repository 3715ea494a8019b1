--------------------------- MODULE Quorum41Cover ----------------------------
(***************************************************************************)
(* As QuorumCover, of the quorum since 4.1 and in Kafka's turns, so that    *)
(* Kafka's classes can be taken through the whole graph: what a leader      *)
(* appends it flushes in the same step, and who learnt nothing from an      *)
(* answer asks again at once.  Both are grain (profiles/kafka-4.3.toml):    *)
(* steps of QuorumCover's graph without a rest between them.  A graph with   *)
(* records begins after an election (Led), as it would be too large else.   *)
(* Its Python twin is reference/quorum/cover/composition.py.                *)
(***************************************************************************)
EXTENDS QuorumCover, Quorum41

CONSTANT Led  \* whether one voter has been elected, and the other is down

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

-----------------------------------------------------------------------------
(* The first of two voters is elected, and the other, which has voted for   *)
(* it, crashes.  What else they have sent is lost.                          *)

Only(outcomes) == CHOOSE o \in outcomes : TRUE
SentBy(o, type) == CHOOSE m \in o.sent : m.type = type

BehindElection ==
  LET one == CHOOSE v \in Voters : \A w \in Voters : v <= w
      other == CHOOSE v \in Voters : v # one
      started(n) == Only(Step_HandleRestart(n, R41_InitialRow(n), [type |-> "Restart"]))
      asks == Only(Step_HandleElectionTimeout(one, started(one).row, [type |-> "ElectionTimeout"]))
      hears == Only(Step_HandleVoteRequest(other, started(other).row, SentBy(asks, "VoteRequest")))
      stands == Only(Step_HandleVoteResponse(one, asks.row, SentBy(hears, "VoteResponse")))
      votes == Only(Step_HandleVoteRequest(other, hears.row, SentBy(stands, "VoteRequest")))
      leads == Only(Step_HandleVoteResponse(one, stands.row, SentBy(votes, "VoteResponse")))
      crashes == Only(Step_HandleCrash(other, votes.row, [type |-> "Crash", keep |-> 0]))
  IN [n \in Voters |-> IF n = one THEN leads.row ELSE crashes.row]

Turn_InitialRow(n) == IF Led THEN BehindElection[n] ELSE R41_InitialRow(n)
=============================================================================
