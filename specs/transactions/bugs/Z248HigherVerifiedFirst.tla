---------------------- MODULE Z248HigherVerifiedFirst -----------------------
(* Z248 (a mutant): a batch is let in while a lower one waits for the       *)
(* coordinator (X13).                                                       *)
EXTENDS TransactionRules

Z248_WaitsForLower(verifying, v) == FALSE
=============================================================================
