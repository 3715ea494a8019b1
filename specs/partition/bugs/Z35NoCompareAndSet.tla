------------------------- MODULE Z35NoCompareAndSet --------------------------
(* Z35 (KIP-497): AlterPartition is accepted whatever the partition epoch.  *)
EXTENDS PartitionRules

Z35_PartitionEpochError(partition, m) == "NONE"
==============================================================================
