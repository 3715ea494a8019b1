------------------------- MODULE Z111TrimsSetInForce -------------------------
(* Z111 (Apache Kafka 4.3.1): a snapshot trims the history at its end, that*)
(* offset included: a set that is appended just there, and not committed,  *)
(* evicts the one below it, and nothing is left when it is truncated.      *)
EXTENDS SnapshotRules

Z111_HistoryAfterSnapshot(history, end) ==
  LET below == SelectSeq(history, LAMBDA set : set.offset <= end)
  IN IF below = <<>> THEN history
     ELSE <<LastOf(below)>> \o SelectSeq(history, LAMBDA set : set.offset > end)
==============================================================================
