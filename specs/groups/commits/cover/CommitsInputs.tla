----------------------------- MODULE CommitsInputs -----------------------------
(***************************************************************************)
(* The inputs with fields of a coordinator and its members, for driving     *)
(* every edge of a graph: the same as `local` of                            *)
(* reference/groups/commits/protocol.py.                                           *)
(***************************************************************************)
EXTENDS CommitHandlers

Inputs_RequestCommit(n, row) ==
  IF row.requested = {} /\ row.position # NoPosition
  THEN {[type |-> "RequestCommit", offset |-> row.position + 1]} ELSE {}
==============================================================================
