----------------------- MODULE Z42UncleanStaysEligible -----------------------
(* Z42 (KAFKA-18106): a broker that comes back without proof of a clean stop*)
(* stays eligible.                                                          *)
EXTENDS PartitionRules

Z42_TargetElr(partition, targetIsr, unclean) ==
  IF ~ElrEnabled \/ Cardinality(targetIsr) >= EffectiveMinIsr THEN {}
  ELSE (partition.elr \cup partition.isr) \ targetIsr
==============================================================================
