----------------------- MODULE Z163LaterGuardCleared ------------------------
(* Z163 (Apache Kafka 4.3.1): a marker spares the guard of its own epoch    *)
(* only, which is that of the next transaction, and no later one (X14).     *)
EXTENDS TransactionRules

Z163_MarkerClearsGuard(guard, m) == ~(EpochPerTransaction /\ guard = m.epoch)
=============================================================================
