------------------------------ MODULE MCQuorum ------------------------------
(***************************************************************************)
(* The asynchronous composition: every message is a message, in a network   *)
(* that never forgets.  Bounds live here and nowhere else (L4).             *)
(*                                                                          *)
(* A network that never forgets is exact for loss, duplication and          *)
(* reordering, and large.  So each model of it asks one question:           *)
(* `Moves` names the actions that may happen, `MaxEpoch` and the budgets    *)
(* bound them.                                                              *)
(***************************************************************************)
EXTENDS QuorumProperties, TLC

CONSTANTS MaxEpoch, MaxRecords, MaxCrashes, Moves

VARIABLE spent      \* how much of each budget has been used

mcVars == <<rows, network, committed, ballots, appended, spent>>

Symmetry == Permutations(Voters)

MCInit == Init /\ HistoryInit /\ spent = [records |-> 0, crashes |-> 0]

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Free(n) ==
  \/ "Vote" \in Moves /\ (HandleVoteRequest(n) \/ HandleVoteResponse(n))
  \/ "Begin" \in Moves /\ (HandleBeginQuorumEpochRequest(n) \/ HandleBeginQuorumEpochResponse(n))
  \/ "End" \in Moves /\ (HandleEndQuorumEpochRequest(n) \/ HandleEndQuorumEpochResponse(n))
  \/ "Fetch" \in Moves /\ (HandleFetchRequest(n) \/ HandleFetchResponse(n) \/ HandleFlush(n))
  \/ "MaxWait" \in Moves /\ HandleFetchMaxWait(n)
  \/ "Election" \in Moves /\ HandleElectionTimeout(n)
  \/ "FetchTimeout" \in Moves /\ HandleFetchTimeout(n)
  \/ "Resend" \in Moves /\ HandleBeginQuorumEpochTimeout(n)
  \/ "CheckQuorum" \in Moves /\ HandleCheckQuorumTimeout(n)
  \/ "RequestTimeout" \in Moves /\ \E peer \in Voters : HandleRequestTimeout(n, peer)
  \/ HandleRestart(n)

Budgeted(n) ==
  \/ /\ IsLeader(rows[n])
     /\ Spend("records", MaxRecords) /\ HandleAppend(n, spent.records + 1)
  \/ /\ Spend("crashes", MaxCrashes)
     /\ \E keep \in 0..Len(rows[n].log) : HandleCrash(n, keep)

MCNext ==
  /\ \E n \in Voters : (Free(n) /\ UNCHANGED spent) \/ Budgeted(n)
  /\ HistoryNext /\ TraceAppends

MCSpec == MCInit /\ [][MCNext]_mcVars

WithinEpochs == \A n \in Voters : rows[n].epoch <= MaxEpoch

(* Exact: epochs only grow, and a response counts only in the epoch of its  *)
(* request, so a message of an older epoch on both ends is dead for ever.   *)
Alive(m) ==
  IF m.type \in {"VoteRequest", "BeginQuorumEpochRequest", "EndQuorumEpochRequest", "FetchRequest"}
  THEN m.epoch >= rows[m.destination].epoch \/ m.epoch >= rows[m.source].epoch
  ELSE m.request.epoch >= rows[m.destination].epoch

AliveView == <<rows, {m \in network : Alive(m)}, committed, ballots, appended, spent>>
=============================================================================
