---------------------------- MODULE SnapshotInputs ----------------------------
(***************************************************************************)
(* The inputs with fields of a node, for driving every edge of a graph: the *)
(* same as `local` of reference/quorum/snapshots/protocol.py.                      *)
(***************************************************************************)
EXTENDS Snapshots

OfLeader(row, nodes) == IF row.role = "Leader" THEN nodes ELSE {}
Offsets(row) == IF Running(row) THEN 1..row.highWatermark ELSE {}

Inputs_AddVoter(n, row) == {[type |-> "AddVoter", voter |-> v] : v \in OfLeader(row, Nodes)}
Inputs_RemoveVoter(n, row) ==
  {[type |-> "RemoveVoter", voter |-> v] : v \in OfLeader(row, Nodes)}
Inputs_FetchFromBootstrap(n, row) ==
  {[type |-> "FetchFromBootstrap", peer |-> v] :
     v \in IF row.role \in {"Unattached", "Follower"} THEN Nodes \ {n} ELSE {}}
Inputs_RequestTimeout(n, row) ==
  {[type |-> "RequestTimeout", peer |-> v] :
     v \in {peer \in Nodes : Running(row) /\ row.connections[peer] # "Ready"}}
Inputs_CreateSnapshot(n, row) ==
  {[type |-> "CreateSnapshot", end |-> end] : end \in Offsets(row)}
Inputs_CleanSnapshots(n, row) ==
  {[type |-> "CleanSnapshots", offset |-> offset] : offset \in Offsets(row)}
==============================================================================
