-------------------------- MODULE ServeBeforeFlush --------------------------
(* A leader serves records that are not on its own disk yet, and goes on to *)
(* count itself only when they are.                                         *)
EXTENDS QuorumRules

Mine_ServableEndOffset(row) == EndOffset(row.log)
=============================================================================
