---------------------- MODULE Z28JoinsBeforeEpochStart -----------------------
(* Z28 (KAFKA-7128): a replica joins the ISR at the high watermark, which a *)
(* new leader may know too low.                                             *)
EXTENDS PartitionRules

Z28_IsInSync(row, r) == row.remotes[r].endOffset >= row.highWatermark
==============================================================================
