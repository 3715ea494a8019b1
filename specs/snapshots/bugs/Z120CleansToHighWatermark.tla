---------------------- MODULE Z120CleansToHighWatermark ----------------------
(* Z120 (a mutant of V3): what is committed is deleted, be it in a snapshot*)
(* or not.                                                                 *)
EXTENDS SnapshotRules

Z120_PrefixDeletable(row, offset) ==
  row.logStart < offset /\ offset <= row.voter.quorum.highWatermark
==============================================================================
