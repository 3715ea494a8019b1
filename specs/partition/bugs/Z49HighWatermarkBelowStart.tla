--------------------- MODULE Z49HighWatermarkBelowStart ----------------------
(* Z49 (KAFKA-9491): a follower that begins anew keeps its high watermark.  *)
EXTENDS PartitionRules

Z49_HighWatermarkAfterWipe(row, start) == row.highWatermark
==============================================================================
