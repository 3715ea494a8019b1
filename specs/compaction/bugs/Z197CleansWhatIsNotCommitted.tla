-------------------- MODULE Z197CleansWhatIsNotCommitted ---------------------
(* Z197: the cleaner does not stop at the high watermark.                  *)
EXTENDS CompactionRules

Z197_CleanableEnd(row, highWatermark) ==
  ActiveSegment(row)
==============================================================================
