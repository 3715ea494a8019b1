----------------------------- MODULE QuorumCover ----------------------------
(***************************************************************************)
(* The asynchronous composition of the quorum as a finite graph, to be      *)
(* dumped and covered edge by edge (`kraftcheck cover`).                    *)
(*                                                                          *)
(* No history, no VIEW, no SYMMETRY and no CONSTRAINT: a state of the graph *)
(* is the rows, the network and what has been spent, and every bound is in  *)
(* an action.  TLC writes one edge for each way to choose a node, an input  *)
(* and an outcome, and labels it with the name of the disjunct of Next; so  *)
(* each disjunct is called `Move_` and the name of its handler's action.    *)
(* Its Python twin is reference/quorum/cover/composition.py.                *)
(***************************************************************************)
EXTENDS KRaftElection

CONSTANTS
  Moves,            \* the actions that may happen, by name
  MaxEpoch,         \* no step may lead a voter beyond this epoch
  MaxRecords,       \* Append
  MaxCrashes,       \* Crash; restarts are free
  MaxTimeouts,      \* ElectionTimeout and FetchTimeout
  MaxRetries,       \* RequestTimeout and BeginQuorumEpochTimeout
  MaxResignations,  \* CheckQuorumTimeout and Resign
  MaxWaits          \* FetchMaxWait

VARIABLE spent      \* how much of each budget has been used

Limit ==
  [records |-> MaxRecords, crashes |-> MaxCrashes, timeouts |-> MaxTimeouts,
   retries |-> MaxRetries, resignations |-> MaxResignations, waits |-> MaxWaits]

CoverInit == Init /\ spent = [budget \in DOMAIN Limit |-> 0]

Enabled(action) == action \in Moves

Free(n) == UNCHANGED spent /\ rows'[n].epoch <= MaxEpoch

Spend(n, budget) ==
  /\ spent[budget] < Limit[budget]
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]
  /\ rows'[n].epoch <= MaxEpoch

Move_HandleVoteRequest(n) ==
  Enabled("HandleVoteRequest") /\ HandleVoteRequest(n) /\ Free(n)
Move_HandleVoteResponse(n) ==
  Enabled("HandleVoteResponse") /\ HandleVoteResponse(n) /\ Free(n)
Move_HandleBeginQuorumEpochRequest(n) ==
  Enabled("HandleBeginQuorumEpochRequest") /\ HandleBeginQuorumEpochRequest(n) /\ Free(n)
Move_HandleBeginQuorumEpochResponse(n) ==
  Enabled("HandleBeginQuorumEpochResponse") /\ HandleBeginQuorumEpochResponse(n) /\ Free(n)
Move_HandleEndQuorumEpochRequest(n) ==
  Enabled("HandleEndQuorumEpochRequest") /\ HandleEndQuorumEpochRequest(n) /\ Free(n)
Move_HandleEndQuorumEpochResponse(n) ==
  Enabled("HandleEndQuorumEpochResponse") /\ HandleEndQuorumEpochResponse(n) /\ Free(n)
Move_HandleFetchRequest(n) ==
  Enabled("HandleFetchRequest") /\ HandleFetchRequest(n) /\ Free(n)
Move_HandleFetchResponse(n) ==
  Enabled("HandleFetchResponse") /\ HandleFetchResponse(n) /\ Free(n)
Move_HandleFetchMaxWait(n) ==
  Enabled("HandleFetchMaxWait") /\ HandleFetchMaxWait(n) /\ Spend(n, "waits")
Move_HandleAppend(n) ==
  /\ Enabled("HandleAppend") /\ rows[n].role = "Leader"
  /\ HandleAppend(n, spent.records + 1) /\ Spend(n, "records")
Move_HandleFlush(n) ==
  Enabled("HandleFlush") /\ HandleFlush(n) /\ Free(n)
Move_HandleElectionTimeout(n) ==
  Enabled("HandleElectionTimeout") /\ HandleElectionTimeout(n) /\ Spend(n, "timeouts")
Move_HandleFetchTimeout(n) ==
  Enabled("HandleFetchTimeout") /\ HandleFetchTimeout(n) /\ Spend(n, "timeouts")
Move_HandleBeginQuorumEpochTimeout(n) ==
  /\ Enabled("HandleBeginQuorumEpochTimeout")
  /\ HandleBeginQuorumEpochTimeout(n) /\ Spend(n, "retries")
Move_HandleCheckQuorumTimeout(n) ==
  /\ Enabled("HandleCheckQuorumTimeout")
  /\ HandleCheckQuorumTimeout(n) /\ Spend(n, "resignations")
Move_HandleResign(n) ==
  Enabled("HandleResign") /\ HandleResign(n) /\ Spend(n, "resignations")
Move_HandleRequestTimeout(n) ==
  /\ Enabled("HandleRequestTimeout")
  /\ \E peer \in Voters : HandleRequestTimeout(n, peer)
  /\ Spend(n, "retries")
Move_HandleCrash(n) ==
  /\ Enabled("HandleCrash")
  /\ \E keep \in 0..Len(rows[n].log) : HandleCrash(n, keep)
  /\ Spend(n, "crashes")
Move_HandleRestart(n) ==
  Enabled("HandleRestart") /\ HandleRestart(n) /\ Free(n)

CoverNext ==
  \E n \in Voters :
    \/ Move_HandleVoteRequest(n) \/ Move_HandleVoteResponse(n)
    \/ Move_HandleBeginQuorumEpochRequest(n) \/ Move_HandleBeginQuorumEpochResponse(n)
    \/ Move_HandleEndQuorumEpochRequest(n) \/ Move_HandleEndQuorumEpochResponse(n)
    \/ Move_HandleFetchRequest(n) \/ Move_HandleFetchResponse(n)
    \/ Move_HandleFetchMaxWait(n) \/ Move_HandleAppend(n) \/ Move_HandleFlush(n)
    \/ Move_HandleElectionTimeout(n) \/ Move_HandleFetchTimeout(n)
    \/ Move_HandleBeginQuorumEpochTimeout(n) \/ Move_HandleCheckQuorumTimeout(n)
    \/ Move_HandleResign(n) \/ Move_HandleRequestTimeout(n)
    \/ Move_HandleCrash(n) \/ Move_HandleRestart(n)
=============================================================================
