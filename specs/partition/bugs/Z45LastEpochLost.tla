-------------------------- MODULE Z45LastEpochLost ---------------------------
(* Z45 (KAFKA-15510): an empty response makes the follower forget the epoch *)
(* of its last record, and its next fetch is not checked.                   *)
EXTENDS PartitionRules

Z45_LastFetchedAfter(row, records) ==
  IF records = <<>> THEN Undefined ELSE records[Len(records)].epoch
==============================================================================
