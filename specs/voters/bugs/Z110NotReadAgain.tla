-------------------------- MODULE Z110NotReadAgain --------------------------
(* Z110 (Apache Kafka 4.3.1): a truncation takes sets out of the history,   *)
(* but what is appended there afterwards is not read: it lies below the end *)
(* that was reached before.                                                 *)
EXTENDS VoterRules

Z110_HistoryAfterTruncation(row, offset) ==
  [history |-> SelectSeq(row.history, LAMBDA set : set.offset < offset),
   historyEnd |-> row.historyEnd]
=============================================================================
