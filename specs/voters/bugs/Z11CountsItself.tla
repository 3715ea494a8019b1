--------------------------- MODULE Z11CountsItself ---------------------------
(* Z11 (KAFKA-16530): a leader that is no voter is counted for the high      *)
(* watermark as if it were one.                                              *)
EXTENDS VoterRules

Z11_CountsItself(n, row) == TRUE
=============================================================================
