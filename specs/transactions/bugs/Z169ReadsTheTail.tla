------------------------- MODULE Z169ReadsTheTail --------------------------
(* Z169: read_uncommitted is taken for all that the leader has: its readers *)
(* are shown what is above the high watermark (X17, X18).                   *)
EXTENDS TransactionRules

Z169_ReadUpTo(row, isolation) ==
  IF isolation = "read_committed" THEN LastStableOffset(row) ELSE Len(row.log)
============================================================================
