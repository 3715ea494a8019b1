---------------------------- MODULE QuorumInputs -----------------------------
(***************************************************************************)
(* The inputs with fields of a voter, for driving every edge of a graph:    *)
(* the same as `local` of reference/quorum/system.py.                       *)
(***************************************************************************)
EXTENDS QuorumHandlers

LongestLog == 8

Inputs_Append(n, row) ==
  {[type |-> "Append", value |-> Len(row.log) + 1] :
     some \in IF row.role = "Leader" /\ Len(row.log) < LongestLog THEN {1} ELSE {}}
Inputs_RequestTimeout(n, row) ==
  {[type |-> "RequestTimeout", peer |-> v] :
     v \in {peer \in Voters : Running(row) /\ row.connections[peer] # "Ready"}}
Inputs_FetchMaxWait(n, row) ==
  {[type |-> "FetchMaxWait", request |-> m] : m \in IF Running(row) THEN row.parked ELSE {}}
Inputs_Crash(n, row) ==
  {[type |-> "Crash", keep |-> keep] :
     keep \in IF Running(row) THEN row.flushed..Len(row.log) ELSE {}}
==============================================================================
