------------------------- MODULE Z37InactiveMayJoin --------------------------
(* Z37 (KIP-841, KAFKA-13916): a broker that is fenced or stops may join the*)
(* ISR.                                                                     *)
EXTENDS PartitionRules

Z37_IsIsrEligible(row, r) == row.remotes[r].brokerEpoch # Undefined
Z37_IsrMemberActive(registration) == TRUE
==============================================================================
