------------------------- MODULE Z60ProducerStateKept -------------------------
(* Z60: truncation leaves the producer state alone: a batch that was cut is   *)
(* taken for a duplicate when it is sent again, and answered.                *)
EXTENDS PartitionRules

Z60_ProducersAfterTruncation(row, log) == row.producers
===============================================================================
