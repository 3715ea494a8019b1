------------------------- MODULE Z198LoadEndsAtHole --------------------------
(* Z198: a load takes a hole for the end of the log.                       *)
EXTENDS CompactionRules

Z198_NextToRead(row) ==
  LET at == row.position + 1
  IN IF at <= Len(row.log) /\ row.log[at].kept # {} THEN at ELSE 0
==============================================================================
