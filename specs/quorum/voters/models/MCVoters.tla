------------------------------ MODULE MCVoters -------------------------------
(***************************************************************************)
(* Controllers that join and leave, in the reduced composition of           *)
(* MCQuorumReduced: requests rest in no network, a response is used in the  *)
(* action that makes it or is lost, a crash and the restart after it are    *)
(* one action, and Normal forgets what no handler uses any more.  The       *)
(* arguments are those of docs/reference/reductions.md.  One thing more is  *)
(* left out: a pre-vote is always granted, so more nodes stand than Kafka   *)
(* would let.                                                               *)
(***************************************************************************)
EXTENDS VoterProperties, TLC

CONSTANTS
  MaxEpoch, MaxRecords, MaxChanges, MaxExpiries, MaxCrashes,
  Moves,          \* "Add", "Remove": the requested changes
  KeepWatermarks, \* of followers: no correct rule asks for them
  Seeded          \* begin with a leader; see Seed

VARIABLE spent    \* how much of each budget has been used

mcVars == <<rows, committed, spent>>

Symmetry == Permutations(FirstVoters) \cup Permutations(Nodes \ FirstVoters)

None == [type |-> "None"]
Nobody == InForce({})!Nobody
Known(row) == LastOf(row.history).voters

Normal(row) ==
  LET settled == MaxOf(row.highWatermark, row.epochStart)
      leads == row.role = "Leader"
  IN [row EXCEPT
        !.connections = [v \in Nodes |-> "Ready"],
        !.parked = {}, !.fetchedVoters = {}, !.unacked = {}, !.successors = <<>>,
        !.rejected = {}, !.hasFetched = FALSE,
        !.voted = IF row.leader = Nobody THEN @ ELSE Nobody,
        !.quorumState.voted = IF row.leader = Nobody THEN @ ELSE Nobody,
        !.highWatermark =
          IF leads \/ row.role = "Resigned" \/ KeepWatermarks THEN @ ELSE Undefined,
        !.flushed = IF spent.crashes = MaxCrashes /\ ~leads THEN Len(row.log) ELSE @,
        !.endOffsets = [v \in Nodes |-> IF @[v] <= settled THEN Undefined ELSE @[v]]]

-----------------------------------------------------------------------------
(* Exchanges.                                                               *)

Becomes(n, outcomes) == {[rows EXCEPT ![n] = Normal(o.row)] : o \in outcomes}

Serve(p, row, m) ==
  CASE m.type = "VoteRequest" -> Step_HandleVoteRequest(p, row, m)
    [] m.type = "BeginQuorumEpochRequest" -> Step_HandleBeginQuorumEpochRequest(p, row, m)
    [] m.type = "FetchRequest" -> Step_HandleFetchRequest(p, row, m)

Use(n, row, m) ==
  LET awaiting == [row EXCEPT !.connections[m.source] = "Awaiting"]
  IN CASE m.type = "VoteResponse" -> Step_HandleVoteResponse(n, awaiting, m)
       [] m.type = "BeginQuorumEpochResponse" ->
            Step_HandleBeginQuorumEpochResponse(n, awaiting, m)
       [] m.type = "FetchResponse" -> Step_HandleFetchResponse(n, awaiting, m)

(* A fetch that would be parked is answered as if its wait were over.       *)
Served(p, row, m) ==
  UNION {IF m \in o.row.parked
         THEN Step_HandleFetchMaxWait(p, o.row, [request |-> m])
         ELSE {o} : o \in Serve(p, row, m)}

Replies(outcome, m) ==
  {r \in outcome.sent :
     /\ r.type \in {"VoteResponse", "BeginQuorumEpochResponse", "FetchResponse"}
     /\ r.request = m}

AfterExchange(n, p) ==
  LET m == InForce(Known(rows[n]))!RequestInFlight(n, rows[n], p)
      served == Served(p, rows[p], m)
  IN Becomes(p, served) \cup
     UNION {UNION {{[rows EXCEPT ![p] = Normal(s.row), ![n] = Normal(used.row)] :
                      used \in Use(n, rows[n], reply)} : reply \in Replies(s, m)} :
            s \in served}

(* Whom n may ask now.                                                      *)
Asked(n) ==
  LET q == rows[n]
      others == Nodes \ {n}
  IN CASE q.role = "Candidate" -> Known(rows[n]) \ q.granted
       [] n \notin Known(rows[n]) /\ q.role \in {"Follower", "Unattached"} -> others
       [] q.role = "Follower" -> {q.leader}
       [] q.role = "Leader" -> Known(rows[n]) \ {n}
       [] OTHER -> {}

-----------------------------------------------------------------------------
(* Local steps.                                                             *)

(* The timer, and a pre-vote that is granted.                               *)
Stands(n) ==
  LET prospective == IF rows[n].role = "Follower"
                     THEN Step_HandleFetchTimeout(n, rows[n], None)
                     ELSE Step_HandleElectionTimeout(n, rows[n], None)
  IN UNION {IF o.row.role # "Prospective" THEN {o}
            ELSE Changed(n, rows[n], InForce(Known(rows[n]))!Finish(n, rows[n],
                   InForce(Known(rows[n]))!BecomeCandidate(n, o.row), {})) :
            o \in prospective}

LearnsEpoch(n) ==
  UNION {Changed(n, rows[n], InForce(Known(rows[n]))!Finish(n, rows[n],
           InForce(Known(rows[n]))!BecomeUnattached(rows[n], epoch), {})) :
         epoch \in {e \in {rows[v].epoch : v \in Nodes} : e > rows[n].epoch}}

Free(n) ==
  \/ \E p \in Asked(n) : rows' \in AfterExchange(n, p)
  \/ rows' \in Becomes(n, Stands(n))
  \/ rows' \in Becomes(n, LearnsEpoch(n))
  \/ rows' \in Becomes(n, Step_HandleFlush(n, rows[n], None))
  \/ rows' \in Becomes(n, Step_HandleResign(n, rows[n], None))

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Leads(n) == rows[n].role = "Leader"

Budgeted(n) ==
  \/ /\ Leads(n) /\ Spend("records", MaxRecords)
     /\ rows' \in Becomes(n, Step_HandleAppend(n, rows[n],
                             [type |-> "Append", value |-> spent.records + 1]))
  \/ /\ Leads(n) /\ "Add" \in Moves /\ Spend("changes", MaxChanges)
     /\ \E v \in Nodes :
          rows' \in Becomes(n, Step_HandleAddVoter(n, rows[n], [type |-> "AddVoter", voter |-> v]))
  \/ /\ Leads(n) /\ "Remove" \in Moves /\ Spend("changes", MaxChanges)
     /\ \E v \in Nodes :
          rows' \in Becomes(n,
            Step_HandleRemoveVoter(n, rows[n], [type |-> "RemoveVoter", voter |-> v]))
  \/ /\ Spend("expiries", MaxExpiries)
     /\ rows' \in Becomes(n, Step_HandleVoterChangeTimeout(n, rows[n], None))
  \/ /\ Spend("crashes", MaxCrashes)
     /\ \E keep \in rows[n].flushed..Len(rows[n].log) :
          rows' \in Becomes(n, UNION {Step_HandleRestart(n, down.row, None) :
                       down \in Step_HandleCrash(n, rows[n], [keep |-> keep])})

(* A leader of epoch 1 whom all nodes follow, who has committed its first   *)
(* record, and has more records that nobody else has.                       *)
Seed(l, tail) ==
  LET first == [epoch |-> 1, value |-> LeaderChange, voters |-> {}, moved |-> {}]
      log == <<first>> \o [i \in 1..tail |->
               [epoch |-> 1, value |-> i, voters |-> {}, moved |-> {}]]
      follows(n) ==
        [InitialRow(n) EXCEPT
           !.role = "Follower", !.epoch = 1, !.leader = l,
           !.quorumState = [epoch |-> 1, leader |-> l, voted |-> Nobody],
           !.log = <<first>>, !.flushed = 1, !.epochCache = <<[epoch |-> 1, start |-> 0]>>,
           !.historyEnd = 1]
  IN [n \in Nodes |->
        IF n # l THEN follows(n)
        ELSE [follows(n) EXCEPT
                !.role = "Leader", !.log = log, !.flushed = Len(log), !.highWatermark = 1,
                !.epochStart = 0, !.announced = 1, !.historyEnd = Len(log),
                !.caughtUp = IF tail = 0 THEN Nodes \ FirstVoters ELSE {}]]

Begins ==
  IF Seeded
  THEN /\ rows \in {Seed(l, MaxRecords) : l \in FirstVoters}
       /\ committed = <<[epoch |-> 1, value |-> LeaderChange, voters |-> {}, moved |-> {}]>>
  ELSE rows = [n \in Nodes |-> InitialRow(n)] /\ committed = <<>>

MCInit ==
  /\ Begins
  /\ spent = [records |-> IF Seeded THEN MaxRecords ELSE 0,
              changes |-> 0, expiries |-> 0, crashes |-> 0]

MCNext ==
  /\ \E n \in Nodes : Running(rows[n]) /\ ((Free(n) /\ UNCHANGED spent) \/ Budgeted(n))
  /\ rows' # rows
  /\ committed' = CommittedAfter(committed, rows')

MCSpec == MCInit /\ [][MCNext]_mcVars

WithinEpochs == \A n \in Nodes : rows[n].epoch <= MaxEpoch

NoIllegalJoin == [][NoIllegalJoinStep]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

CommittedSets == Len(SetsOf(committed)) - 1
NoChangeCommittedProbe == CommittedSets = 0
NoTwoChangesCommittedProbe == CommittedSets < 2
NoNewVoterLeadsProbe == \A n \in Nodes \ FirstVoters : ~Leads(n)
NoLeaderOutsideProbe == \A n \in Nodes : Leads(n) => n \in Known(rows[n])
NoTruncatedSetProbe ==
  [][\A n \in Nodes : Len(rows'[n].history) >= Len(rows[n].history)]_mcVars
NoRemovedLeaderLeftProbe ==
  [][~\E n \in Nodes : Leads(n) /\ n \notin Known(rows[n])
                       /\ rows'[n].role = "Resigned"
                       /\ n \notin LastVoters(committed')]_mcVars
=============================================================================
