-------------------------- MODULE Z58NoDeduplication --------------------------
(* Z58: a batch that is sent again is appended again.                        *)
EXTENDS PartitionRules

Z58_DuplicateOffset(row, m) == Undefined
Z58_ProduceError(row, m) ==
  CASE row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
    [] m.acks = -1 /\ Cardinality(row.isr) < EffectiveMinIsr -> "NOT_ENOUGH_REPLICAS"
    [] OTHER -> "NONE"
===============================================================================
