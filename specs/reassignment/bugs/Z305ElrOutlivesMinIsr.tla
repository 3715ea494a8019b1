----------------------- MODULE Z305ElrOutlivesMinIsr -----------------------
(* Z305 (KAFKA-16540): the ELR stays when min.insync.replicas changes.      *)
EXTENDS ReassignmentRules

Z305_ClearsEligible(partition) == FALSE
============================================================================
