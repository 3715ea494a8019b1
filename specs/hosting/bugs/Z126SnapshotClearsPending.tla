---------------------- MODULE Z126SnapshotClearsPending ----------------------
(* Z126 (Apache Kafka 4.3.1): a snapshot reports every partition again, and *)
(* clears proposals.                                                        *)
EXTENDS HostingRules

Z126_ClearsPending(row, bySnapshot) ==
  bySnapshot \/ row.image.partitionEpoch > row.replica.partitionEpoch
==============================================================================
