---------------------- MODULE GuardOfLaterEpochCleared -----------------------
(* As Apache Kafka 4.3.1 has it: a marker spares the guard of its own epoch *)
(* only, which is that of the next transaction, and no later one (X14).     *)
EXTENDS TransactionRules

Kafka_MarkerClearsGuard(guard, m) == ~(EpochPerTransaction /\ guard = m.epoch)
=============================================================================
