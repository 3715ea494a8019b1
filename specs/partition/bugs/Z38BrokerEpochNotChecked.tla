---------------------- MODULE Z38BrokerEpochNotChecked -----------------------
(* Z38 (KIP-903, KAFKA-14139): the ISR takes a broker that has come back    *)
(* with another log than the one that was in sync.                          *)
EXTENDS PartitionRules

Z38_IsrMemberEpochMatches(registration, member) == TRUE
==============================================================================
