------------------------ MODULE Z52WaitsForIneligible ------------------------
(* Z52 (KAFKA-15021): the high watermark waits for a replica that was       *)
(* caught up, whether it may join the ISR or not.                           *)
EXTENDS PartitionRules

Z52_IsWaitedFor(row, r) ==
  row.remotes[r].caughtUp \/ row.remotes[r].endOffset = EndOffset(row.log)
==============================================================================
