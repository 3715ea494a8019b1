---------------------- MODULE Z177RepeatedBumpRefused -----------------------
(* Z177: a producer that asks again for the epoch that it was given, as the *)
(* answer was lost, is fenced (X7, KIP-360).                                *)
EXTENDS TransactionRules

Z177_IsRepeatedBump(row, m) == FALSE
=============================================================================
