-------------------------- MODULE CountBeforeFlush --------------------------
(* A leader serves records that are not on its own disk yet, and counts     *)
(* itself among those that have them.                                       *)
EXTENDS QuorumRules

Mine_ServableEndOffset(row) == EndOffset(row.log)
Mine_OwnEndOffset(row) == EndOffset(row.log)
=============================================================================
