--------------------------- MODULE Z77FencedTwice ----------------------------
(* Z77 (KAFKA-19367): a fence raises the epoch twice, and beyond the last   *)
(* one of the producer id (X8).                                             *)
EXTENDS TransactionRules

Z77_FencedEpoch(epoch) == epoch + 2
=============================================================================
