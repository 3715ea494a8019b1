------------------------ MODULE Z188BatchTakesGuard -------------------------
(* Z188 (Apache Kafka 4.3.1): a late batch takes the guard away that the    *)
(* batches of the next transaction wait under (X13).                        *)
EXTENDS TransactionRules

Z188_BatchClearsGuard(guard, m) == TRUE
=============================================================================
