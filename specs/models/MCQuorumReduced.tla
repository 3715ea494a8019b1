-------------------------- MODULE MCQuorumReduced ---------------------------
(***************************************************************************)
(* The reduced composition of the same handlers, for large bounds: no       *)
(* messages rest in a network.  A request and its response are one action,  *)
(* in which the response is applied or lost.                                *)
(***************************************************************************)
EXTENDS QuorumProperties, TLC

CONSTANTS MaxEpoch, MaxRecords, MaxCrashes, SeparateResponses

VARIABLE spent

mcVars == <<rows, network, committed, ballots, appended, spent>>

Symmetry == Permutations(Voters)

Normal(row) ==
  LET known == MaxOf(row.highWatermark, row.epochStart)
      leads == row.role = "Leader"
  IN [row EXCEPT
        !.connections = [v \in Voters |-> "Ready"],
        !.parked = {}, !.fetchedVoters = {}, !.unacked = {}, !.successors = <<>>,
        !.rejected = {}, !.hasFetched = FALSE,
        !.voted = IF row.leader # Nobody THEN Nobody ELSE @,
        !.quorumState.voted = IF row.leader # Nobody THEN Nobody ELSE @,
        !.highWatermark = IF leads THEN @ ELSE Undefined,
        !.flushed = IF spent'.crashes = MaxCrashes THEN Len(row.log) ELSE @,
        !.endOffsets = [v \in Voters |-> IF @[v] <= known THEN Undefined ELSE @[v]]]

None == [type |-> "None"]

Serve(n, row, m) ==
  CASE m.type = "VoteRequest" -> Step_HandleVoteRequest(n, row, m)
    [] m.type = "BeginQuorumEpochRequest" -> Step_HandleBeginQuorumEpochRequest(n, row, m)
    [] m.type = "FetchRequest" -> Step_HandleFetchRequest(n, row, m)

Use(n, row, m) ==
  CASE m.type = "VoteResponse" -> Step_HandleVoteResponse(n, row, m)
    [] m.type = "BeginQuorumEpochResponse" -> Step_HandleBeginQuorumEpochResponse(n, row, m)
    [] m.type = "FetchResponse" -> Step_HandleFetchResponse(n, row, m)

Replies(outcome, m) ==
  {r \in outcome.sent : r.type \in {"VoteResponse", "BeginQuorumEpochResponse", "FetchResponse"}
                        /\ r.request = m}

Waited(p, outcome, m) ==
  IF m \in outcome.row.parked
  THEN Step_HandleFetchMaxWait(p, outcome.row, [request |-> m])
  ELSE {outcome}

Teaches(row, r) ==
  \/ r.epoch > row.epoch
  \/ r.epoch = row.epoch /\ r.leader # Nobody /\ row.leader = Nobody

Counts(row, r) ==
  \/ Teaches(row, r)
  \/ /\ r.error = "NONE" /\ r.epoch = row.epoch
     /\ CASE r.type = "VoteResponse" -> r.granted
          [] r.type = "FetchResponse" -> r.records # <<>> \/ r.diverging # NoDivergence
          [] OTHER -> FALSE

Awaited(n, row, r) ==
  r.request = RequestInFlight(n, row, r.source) /\ Counts(row, r) /\ Running(row)

InFlight(replies, newRows) ==
  {r \in replies : Awaited(r.destination, newRows[r.destination], r)}

Exchange(n, p) ==
  LET m == RequestInFlight(n, rows[n], p)
      asker == [rows[n] EXCEPT !.connections[p] = "Awaiting"]
  IN \E first \in Serve(p, rows[p], m) : \E served \in Waited(p, first, m) :
       IF SeparateResponses
       THEN /\ rows' = [rows EXCEPT ![p] = Normal(served.row)]
            /\ network' = InFlight({r \in network : r.destination # n \/ r.source # p}
                                         \cup Replies(served, m), rows')
       ELSE /\ UNCHANGED network
            /\ \/ rows' = [rows EXCEPT ![p] = Normal(served.row)]
               \/ \E reply \in Replies(served, m) : \E used \in Use(n, asker, reply) :
                    rows' = [rows EXCEPT ![p] = Normal(served.row), ![n] = Normal(used.row)]

Receive(n) ==
  \E r \in network :
    /\ r.destination = n
    /\ \E used \in Use(n, [rows[n] EXCEPT !.connections[r.source] = "Awaiting"], r) :
         rows' = [rows EXCEPT ![n] = Normal(used.row)]
    /\ network' = InFlight(network \ {r}, rows')

Local(Step(_, _, _), n, input) ==
  /\ \E outcome \in Step(n, rows[n], input) : rows' = [rows EXCEPT ![n] = Normal(outcome.row)]
  /\ network' = InFlight(network, rows')

Asks(n, p) == Running(rows[n]) /\ Running(rows[p]) /\ Exchange(n, p)

AskForVote(n) ==
  /\ rows[n].role = "Candidate"
  /\ \E p \in Voters \ rows[n].granted : Asks(n, p)

TimeOut(n) ==
  CASE rows[n].role = "Follower" -> Step_HandleFetchTimeout(n, rows[n], None)
    [] rows[n].role \in {"Unattached", "Candidate"} -> Step_HandleElectionTimeout(n, rows[n], None)
    [] OTHER -> {}

PreVoteRound(n) ==
  /\ \E prospective \in TimeOut(n) : \E p \in Others(n) :
       LET row == prospective.row
           m == RequestInFlight(n, row, p)
       IN /\ Running(rows[p])
          /\ \E served \in Step_HandleVoteRequest(p, rows[p], m) :
               \/ rows' = [rows EXCEPT ![p] = Normal(served.row)]
               \/ \E reply \in Replies(served, m) :
                    \E used \in Step_HandleVoteResponse(n, row, reply) :
                      /\ used.row.role # "Prospective"
                      /\ rows' = [rows EXCEPT ![p] = Normal(served.row), ![n] = Normal(used.row)]
  /\ network' = InFlight(network, rows')

PreVoteFails(n) ==
  /\ \E prospective \in TimeOut(n) :
       \E lost \in Step_HandleElectionTimeout(n, prospective.row, None) :
         rows' = [rows EXCEPT ![n] = Normal(lost.row)]
  /\ network' = InFlight(network, rows')
AskForRecords(n) == rows[n].role = "Follower" /\ Asks(n, rows[n].leader)
AnnounceLeader(n) == rows[n].role = "Leader" /\ \E p \in Others(n) : Asks(n, p)

LearnEpoch(n) ==
  /\ Running(rows[n])
  /\ \E v \in Others(n) : \E e \in (rows[n].epoch + 1)..rows[v].epoch :
       \E learned \in Finish(n, rows[n], BecomeUnattached(rows[n], e), {}) :
         rows' = [rows EXCEPT ![n] = Normal(learned.row)]
  /\ network' = InFlight(network, rows')

CrashAndRestart(n, keep) ==
  /\ \E down \in Step_HandleCrash(n, rows[n], [keep |-> keep]) :
       \E up \in Step_HandleRestart(n, down.row, None) :
         rows' = [rows EXCEPT ![n] = Normal(up.row)]
  /\ network' = InFlight(network, rows')

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Free(n) ==
  \/ AskForVote(n)
  \/ PreVoteRound(n)
  \/ PreVoteFails(n)
  \/ AskForRecords(n)
  \/ AnnounceLeader(n)
  \/ LearnEpoch(n)
  \/ Receive(n)
  \/ Local(Step_HandleFlush, n, None)
  \/ rows[n].role = "Resigned" /\ Local(Step_HandleElectionTimeout, n, None)
  \/ Local(Step_HandleResign, n, None)

Budgeted(n) ==
  \/ /\ IsLeader(rows[n])
     /\ Spend("records", MaxRecords)
     /\ Local(Step_HandleAppend, n, [type |-> "Append", value |-> spent.records + 1])
  \/ /\ Spend("crashes", MaxCrashes)
     /\ \E keep \in rows[n].flushed..Len(rows[n].log) : CrashAndRestart(n, keep)

MCInit == Init /\ HistoryInit /\ spent = [records |-> 0, crashes |-> 0]

MCNext ==
  /\ \E n \in Voters : (UNCHANGED spent /\ Free(n)) \/ Budgeted(n)
  /\ <<rows, network>>' # <<rows, network>>
  /\ committed' = CommittedAfter(committed, rows')
  /\ UNCHANGED <<appended, ballots>>

MCSpec == MCInit /\ [][MCNext]_mcVars

WithinEpochs == \A n \in Voters : rows[n].epoch <= MaxEpoch
=============================================================================
