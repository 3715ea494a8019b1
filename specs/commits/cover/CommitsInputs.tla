----------------------------- MODULE CommitsInputs -----------------------------
(***************************************************************************)
(* Which inputs with fields may come to a coordinator and to its members,   *)
(* where every edge of a graph is driven: as `local` of                     *)
(* reference/commits/protocol.py says.                                      *)
(***************************************************************************)
EXTENDS CommitHandlers

Inputs_RequestCommit(n, row) ==
  IF row.requested = {} /\ row.position # NoPosition
  THEN {[type |-> "RequestCommit", offset |-> row.position + 1]} ELSE {}
==============================================================================
