---------------------------- MODULE KafkaOrders -----------------------------
(* The decisions of Apache Kafka 4.3.1 that differ from StorageRules:       *)
(* AsKafka of reference/storage/rules.py. Its models substitute all of them *)
(* at once, and name the property to check.                                 *)
EXTENDS StorageRules

Kafka_RollSynced(rises) == FALSE
Kafka_FolderSynced(beginsThere, namesChanged) == beginsThere
Kafka_FlushedUpto(target, end) == target
Kafka_ClosingSynced(recoveryPoint, base) == FALSE
Kafka_RecoveryPointFirst == FALSE
Kafka_CutInOrder(bases) == bases
Kafka_CutSynced == FALSE
Kafka_EpochsCutAtOnce == FALSE
Kafka_LogStartDurable == FALSE
Kafka_Fits(batch, before) == TRUE
Kafka_Joins(base, end, filled, rises) == TRUE
Kafka_TrimsBeforeSync == FALSE
Kafka_MarkerRemovalSynced == FALSE
=============================================================================
