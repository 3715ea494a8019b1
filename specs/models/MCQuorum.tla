------------------------------ MODULE MCQuorum ------------------------------
(***************************************************************************)
(* The asynchronous composition: every message is a message, in a network   *)
(* that never forgets.  Bounds live here and nowhere else (L4).             *)
(***************************************************************************)
EXTENDS QuorumProperties, TLC

CONSTANTS MaxEpoch, MaxRecords, MaxCrashes

VARIABLE spent      \* how much of each budget has been used

mcVars == <<rows, network, committed, ballots, appended, spent>>

Symmetry == Permutations(Voters)

MCInit == Init /\ HistoryInit /\ spent = [records |-> 0, crashes |-> 0]

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Free(n) ==
  \/ HandleVoteRequest(n)
  \/ HandleVoteResponse(n)
  \/ HandleBeginQuorumEpochRequest(n)
  \/ HandleBeginQuorumEpochResponse(n)
  \/ HandleEndQuorumEpochRequest(n)
  \/ HandleEndQuorumEpochResponse(n)
  \/ HandleFetchRequest(n)
  \/ HandleFetchResponse(n)
  \/ HandleFetchMaxWait(n)
  \/ HandleFlush(n)
  \/ HandleElectionTimeout(n)
  \/ HandleFetchTimeout(n)
  \/ HandleBeginQuorumEpochTimeout(n)
  \/ HandleCheckQuorumTimeout(n)
  \/ \E peer \in Voters : HandleRequestTimeout(n, peer)
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
=============================================================================
