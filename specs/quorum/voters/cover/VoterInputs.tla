----------------------------- MODULE VoterInputs -----------------------------
(***************************************************************************)
(* The inputs with fields of a controller, for driving every edge of a      *)
(* graph: the same as `local` of reference/quorum/voters/protocol.py.              *)
(***************************************************************************)
EXTENDS VoterChanges

Leads(row) == row.role = "Leader"

Inputs_AddVoter(n, row) ==
  {[type |-> "AddVoter", voter |-> v] : v \in IF Leads(row) THEN Nodes ELSE {}}
Inputs_RemoveVoter(n, row) ==
  {[type |-> "RemoveVoter", voter |-> v] : v \in IF Leads(row) THEN Nodes ELSE {}}
Inputs_FetchFromBootstrap(n, row) ==
  {[type |-> "FetchFromBootstrap", peer |-> v] :
     v \in IF row.role \in {"Unattached", "Follower"} THEN Nodes \ {n} ELSE {}}
Inputs_RequestTimeout(n, row) ==
  {[type |-> "RequestTimeout", peer |-> v] :
     v \in {peer \in Nodes : Running(row) /\ row.connections[peer] # "Ready"}}
Inputs_Crash(n, row) ==
  LET least == MaxOf(row.flushed, LastOf(row.history).offset + 1)
  IN {[type |-> "Crash", keep |-> keep] :
        keep \in IF Running(row) THEN least..Len(row.log) ELSE {}}
==============================================================================
