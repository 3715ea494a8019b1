------------------------- MODULE Z76NextGuardCleared -------------------------
(* Z76 (KAFKA-18575): a marker takes away the guard of the next transaction, *)
(* whose first batch is then refused (X14).                                 *)
EXTENDS TransactionRules

Z76_MarkerClearsGuard(guard, m) == TRUE
=============================================================================
