---------------------- MODULE Z43DeadLastLeaderElected -----------------------
(* Z43 (KAFKA-19522): the last known leader is elected alive or not.        *)
EXTENDS PartitionRules

Z43_LastKnownLeaderElectable(partition, targetIsr, targetElr, acceptable) ==
  /\ ElrEnabled /\ targetIsr = {} /\ targetElr = {}
  /\ partition.lastKnownLeader # Nobody
==============================================================================
