------------------------- MODULE Z243OutdatedSends --------------------------
(* Z243 (a mutant): offsets of a transaction are accepted whatever epoch    *)
(* they carry (G30, KIP-447).                                               *)
EXTENDS GroupRules

Z243_AcceptsTxnOffsets(row, request) == TRUE
=============================================================================
