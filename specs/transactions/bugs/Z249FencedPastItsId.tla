------------------------ MODULE Z249FencedPastItsId -------------------------
(* Z249 (a mutant): a fence is written with the first epoch of the next     *)
(* producer id (X8).                                                        *)
EXTENDS TransactionRules

Z249_FencedEpoch(epoch) == epoch + 1
=============================================================================
