---------------------------- MODULE HostingInputs -----------------------------
(***************************************************************************)
(* The inputs with fields of a broker and its metadata, for driving every   *)
(* edge of a graph: the same as `local` of reference/partition/hosting/protocol.py.   *)
(***************************************************************************)
EXTENDS Hosting

Inputs_TopicCreated(n, row) ==
  {[type |-> "TopicCreated", assigned |-> assigned] : assigned \in BOOLEAN}
Inputs_LogDirFailure(n, row) ==
  {[type |-> "LogDirFailure", directory |-> d] : d \in Directories}
Inputs_ReportDirectory(n, row) ==
  {[type |-> "ReportDirectory", directory |-> d] : d \in Directories}
Inputs_MoveReplica(n, row) ==
  {[type |-> "MoveReplica", directory |-> d] : d \in Directories}
Inputs_HostRestart(n, row) ==
  {[type |-> "HostRestart", directories |-> some] :
     some \in IF row.running THEN {} ELSE SUBSET Directories \ {{}}}
==============================================================================
