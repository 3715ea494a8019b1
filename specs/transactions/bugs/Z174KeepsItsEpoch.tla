------------------------- MODULE Z174KeepsItsEpoch -------------------------
(* Z174: before KIP-360 a producer of version 1 goes on in its epoch after it *)
(* has given a batch up (X32).                                              *)
EXTENDS TransactionRules

Z174_BumpsEpoch == FALSE
============================================================================
