------------------------ MODULE Z129AbortedIsApplied -------------------------
(* Z129 (Apache Kafka 4.3.1): what a transaction has is dropped at its       *)
(* Abort only if nothing follows that in the same reading.                   *)
EXTENDS HostingRules

Z129_ReadsAborted(row, bySnapshot) ==
  ~bySnapshot /\ row.aborted # Undefined /\ row.image.partitionEpoch > row.aborted
==============================================================================
