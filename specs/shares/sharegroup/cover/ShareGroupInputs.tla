--------------------------- MODULE ShareGroupInputs ---------------------------
(***************************************************************************)
(* Which inputs with fields may come, where every edge of a graph is        *)
(* driven: as `local` of reference/shares/sharegroup/protocol.py says.             *)
(***************************************************************************)
EXTENDS ShareGroupHandlers

Inputs_AlterOffsets(n, row) == {[type |-> "AlterOffsets", start |-> s] : s \in 1 .. Records}
=============================================================================
