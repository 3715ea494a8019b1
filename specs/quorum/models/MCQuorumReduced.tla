-------------------------- MODULE MCQuorumReduced ---------------------------
(***************************************************************************)
(* The reduced composition of the same handlers, for larger bounds.  What   *)
(* is left out, and why nothing unsafe is lost with it                      *)
(* (docs/reference/reductions.md has the arguments at length; tests compare *)
(* this composition with the asynchronous one at bounds where both          *)
(* complete):                                                               *)
(*                                                                          *)
(*  1. No requests rest in a network.  A role owes its requests (Owed), so  *)
(*     the request in flight follows from the asker's row; it is served at  *)
(*     any time, any number of times, or never.  A request that its asker   *)
(*     has outlived could still teach an epoch: LearnEpoch does, for any    *)
(*     epoch that any voter has reached.                                    *)
(*  2. Responses.  SeparateResponses: they rest in the network, one for     *)
(*     each asker and peer, until used, lost or outdated.  Otherwise a      *)
(*     response is used in the action that makes it, or lost.               *)
(*  3. A pre-vote is one action, from the timer to candidacy or back        *)
(*     (RestingProspective: it is not, and the role Prospective rests).     *)
(*  4. Normal forgets what no handler uses any more, or uses only to refuse *)
(*     (hasFetched, rejected: more is requested and granted than in Kafka;  *)
(*     the vote of an epoch whose leader is known), unless KeepAnswers.     *)
(*  5. A crash and the restart after it are one action: a voter that is     *)
(*     down does nothing that a silent voter does not do.                   *)
(***************************************************************************)
EXTENDS QuorumProperties, TLC

CONSTANTS
  MaxEpoch, MaxRecords, MaxCrashes,
  SeparateResponses, RestingProspective,
  KeepAnswers          \* keep hasFetched, rejected, and votes of settled epochs

VARIABLE spent      \* how much of each budget has been used

mcVars == <<rows, network, committed, ballots, appended, spent>>

Symmetry == Permutations(Voters)

(* No handler of a leader or a voter asks what a follower knows to be       *)
(* committed, but for TruncationRefused, which nothing meets here           *)
(* (NoTruncateOfCommitted); MCQuorumLate keeps it.                          *)
KeptHighWatermark(row) == IF IsLeader(row) THEN row.highWatermark ELSE Undefined

(* Kept, among others: everything durable but the vote in an epoch whose    *)
(* leader is known (no handler gives or uses a vote then), and `flushed`    *)
(* while a crash may still come.                                            *)
Normal(row) ==
  LET settled == MaxOf(row.highWatermark, row.epochStart)
  IN [row EXCEPT
        !.connections = [v \in Voters |-> "Ready"],
        !.parked = {}, !.fetchedVoters = {}, !.unacked = {}, !.successors = <<>>,
        !.rejected = IF KeepAnswers THEN @ ELSE {},
        !.hasFetched = KeepAnswers /\ @,
        !.voted = IF KeepAnswers \/ row.leader = Nobody THEN @ ELSE Nobody,
        !.quorumState.voted = IF KeepAnswers \/ row.leader = Nobody THEN @ ELSE Nobody,
        !.highWatermark = KeptHighWatermark(row),
        !.flushed = IF spent.crashes = MaxCrashes THEN Len(row.log) ELSE @,
        !.endOffsets = [v \in Voters |-> IF @[v] <= settled THEN Undefined ELSE @[v]]]

None == [type |-> "None"]

-----------------------------------------------------------------------------
(* Responses in flight.                                                     *)

Teaches(row, r) ==
  \/ r.epoch > row.epoch
  \/ r.epoch = row.epoch /\ r.leader # Nobody /\ row.leader = Nobody

(* A response that changes nothing when it is used need not be kept.        *)
Matters(row, r) ==
  \/ Teaches(row, r)
  \/ /\ r.error = "NONE" /\ r.epoch = row.epoch
     /\ CASE r.type = "VoteResponse" -> r.granted
          [] r.type = "FetchResponse" -> r.records # <<>> \/ r.diverging # NoDivergence
          [] OTHER -> FALSE

InFlight(replies, newRows) ==
  {r \in replies :
     LET row == newRows[r.destination]
     IN /\ Running(row) /\ Matters(row, r)
        /\ r.request = RequestInFlight(r.destination, row, r.source)}

(* Every action says what becomes of the rows; the responses follow.  What  *)
(* can become of them is computed as a set first: TLC caches what it        *)
(* computes of a state, but not what it computes inside an action.          *)
RowsBecome(newRows) == rows' = newRows /\ network' = InFlight(network, newRows)
RowsBecomeOneOf(choices) == \E newRows \in choices \ {rows} : RowsBecome(newRows)

-----------------------------------------------------------------------------
(* Exchanges.                                                               *)

Serve(n, row, m) ==
  CASE m.type = "VoteRequest" -> Step_HandleVoteRequest(n, row, m)
    [] m.type = "BeginQuorumEpochRequest" -> Step_HandleBeginQuorumEpochRequest(n, row, m)
    [] m.type = "FetchRequest" -> Step_HandleFetchRequest(n, row, m)

Use(n, row, m) ==
  LET awaiting == [row EXCEPT !.connections[m.source] = "Awaiting"]
  IN CASE m.type = "VoteResponse" -> Step_HandleVoteResponse(n, awaiting, m)
       [] m.type = "BeginQuorumEpochResponse" ->
            Step_HandleBeginQuorumEpochResponse(n, awaiting, m)
       [] m.type = "FetchResponse" -> Step_HandleFetchResponse(n, awaiting, m)

(* A fetch that would be parked is answered as if its wait were over.       *)
Served(p, row, m) ==
  UNION {IF m \in outcome.row.parked
         THEN Step_HandleFetchMaxWait(p, outcome.row, [request |-> m])
         ELSE {outcome} : outcome \in Serve(p, row, m)}

Replies(outcome, m) ==
  {r \in outcome.sent :
     /\ r.type \in {"VoteResponse", "BeginQuorumEpochResponse", "FetchResponse"}
     /\ r.request = m}

(* n asks p; `asker` is n's row when it asks.  Only the request arrives.    *)
AfterRequest(n, asker, p) ==
  {[rows EXCEPT ![p] = Normal(served.row)] :
     served \in Served(p, rows[p], RequestInFlight(n, asker, p))}

(* ... or both the request and its answer.                                  *)
AfterAnswer(n, asker, p) ==
  LET m == RequestInFlight(n, asker, p) IN
  UNION {UNION {{[rows EXCEPT ![p] = Normal(served.row), ![n] = Normal(used.row)] :
                   used \in Use(n, asker, reply)} :
                reply \in Replies(served, m)} :
         served \in Served(p, rows[p], m)}

AfterExchange(n, asker, p) == AfterRequest(n, asker, p) \cup AfterAnswer(n, asker, p)

RequestOnly(n, p) ==
  LET m == RequestInFlight(n, rows[n], p) IN
  \E served \in Served(p, rows[p], m) :
    /\ rows' = [rows EXCEPT ![p] = Normal(served.row)]
    /\ network' = InFlight({r \in network : r.destination # n \/ r.source # p}
                             \cup Replies(served, m), rows')

Asks(n, p) ==
  /\ Running(rows[p])
  /\ IF SeparateResponses THEN RequestOnly(n, p)
     ELSE RowsBecomeOneOf(AfterExchange(n, rows[n], p))

UseResponse(n) ==
  \E r \in network :
    /\ r.destination = n
    /\ \E used \in Use(n, rows[n], r) :
         /\ rows' = [rows EXCEPT ![n] = Normal(used.row)]
         /\ network' = InFlight(network \ {r}, rows')

AskForVote(n) ==
  /\ rows[n].role \in {"Candidate", "Prospective"}
  /\ \E p \in Voters \ rows[n].granted : Asks(n, p)
AskForRecords(n) == rows[n].role = "Follower" /\ Asks(n, rows[n].leader)
AnnounceLeader(n) == IsLeader(rows[n]) /\ \E p \in Others(n) : Asks(n, p)

-----------------------------------------------------------------------------
(* Local steps.                                                             *)

AfterLocal(n, outcomes) == {[rows EXCEPT ![n] = Normal(o.row)] : o \in outcomes}

Local(Step(_, _, _), n, input) == RowsBecomeOneOf(AfterLocal(n, Step(n, rows[n], input)))

TimeOut(n) ==
  CASE rows[n].role = "Follower" -> Step_HandleFetchTimeout(n, rows[n], None)
    [] rows[n].role \in {"Unattached", "Candidate"} ->
         Step_HandleElectionTimeout(n, rows[n], None)
    [] OTHER -> {}

(* A pre-vote that is not won leaves n where it was, or where it came from. *)
AfterPreVote(n, prospective) ==
  {newRows \in UNION {AfterExchange(n, prospective, p) :
                         p \in {v \in Others(n) : Running(rows[v])}} :
     newRows[n].role # "Prospective"}
  \cup AfterLocal(n, Step_HandleElectionTimeout(n, prospective, None))

StartPreVote(n) ==
  \E prospective \in TimeOut(n) :
    IF RestingProspective
    THEN RowsBecomeOneOf(AfterLocal(n, {prospective}))
    ELSE RowsBecomeOneOf(AfterPreVote(n, prospective.row))

EndTerm(n) ==
  /\ rows[n].role \in {"Resigned", "Prospective"}
  /\ Local(Step_HandleElectionTimeout, n, None)

LearnEpoch(n) ==
  \E v \in Others(n) : \E epoch \in (rows[n].epoch + 1)..rows[v].epoch :
    RowsBecomeOneOf(AfterLocal(n, Finish(n, rows[n], BecomeUnattached(rows[n], epoch), {})))

CrashAndRestart(n, keep) ==
  RowsBecomeOneOf(AfterLocal(n,
    UNION {Step_HandleRestart(n, down.row, None) :
             down \in Step_HandleCrash(n, rows[n], [keep |-> keep])}))

-----------------------------------------------------------------------------
(* Budgets (L4).                                                            *)

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Free(n) ==
  \/ AskForVote(n)
  \/ AskForRecords(n)
  \/ AnnounceLeader(n)
  \/ UseResponse(n)
  \/ StartPreVote(n)
  \/ EndTerm(n)
  \/ LearnEpoch(n)
  \/ Local(Step_HandleFlush, n, None)
  \/ Local(Step_HandleResign, n, None)

Budgeted(n) ==
  \/ /\ IsLeader(rows[n])
     /\ Spend("records", MaxRecords)
     /\ Local(Step_HandleAppend, n, [type |-> "Append", value |-> spent.records + 1])
  \/ /\ Spend("crashes", MaxCrashes)
     /\ \E keep \in rows[n].flushed..Len(rows[n].log) : CrashAndRestart(n, keep)

MCInit == Init /\ HistoryInit /\ spent = [records |-> 0, crashes |-> 0]

MCNext ==
  /\ \E n \in Voters : Running(rows[n]) /\ ((UNCHANGED spent /\ Free(n)) \/ Budgeted(n))
  /\ <<rows, network>>' # <<rows, network>>
  /\ committed' = CommittedAfter(committed, rows')
  /\ UNCHANGED <<appended, ballots>>

MCSpec == MCInit /\ [][MCNext]_mcVars

WithinEpochs == \A n \in Voters : rows[n].epoch <= MaxEpoch

-----------------------------------------------------------------------------
(* Normal drops the high watermarks of followers, so instead of             *)
(* NoTruncateBelowHighWatermark the reduced models check more: whatever     *)
(* part of the committed prefix a voter holds, it keeps, unless it crashes. *)
Holds(row, prefix) ==
  CHOOSE k \in 0..MinOf(Len(row.log), Len(prefix)) :
    /\ Agree(row.log, prefix, k)
    /\ k < MinOf(Len(row.log), Len(prefix)) => row.log[k + 1] # prefix[k + 1]

NoTruncateOfCommittedStep ==
  \A n \in Voters :
    spent'.crashes = spent.crashes =>
      Holds(rows'[n], committed) >= Holds(rows[n], committed)
NoTruncateOfCommitted == [][NoTruncateOfCommittedStep]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated, or else the bounds were bought with a     *)
(* constraint (non-vacuity).                                                *)

NoLeaderProbe == \A n \in Voters : ~IsLeader(rows[n])
NothingCommittedProbe == committed = <<>>
OneEpochCommittedProbe ==
  \A i, j \in 1..Len(committed) : committed[i].epoch = committed[j].epoch
NoResignationProbe == \A n \in Voters : rows[n].role # "Resigned"
NoZombieLeaderProbe ==
  Cardinality({n \in Voters : IsLeader(rows[n])}) <= 1
Crash == spent'.crashes # spent.crashes
Shorter == \E n \in Voters : Len(rows'[n].log) < Len(rows[n].log)
NoLossProbe == [][~(Shorter /\ Crash)]_mcVars
NoTruncationProbe == [][~(Shorter /\ ~Crash)]_mcVars
(* The abstract log keeps its records through a truncation.                 *)
NoTruncationAfterCommitProbe == [][~(Shorter /\ ~Crash /\ committed # <<>>)]_mcVars
=============================================================================
