------------------------ MODULE Z51NotTriedAfterAlter ------------------------
(* Z51 (KAFKA-13091): the high watermark is not tried when the ISR has      *)
(* changed.                                                                 *)
EXTENDS PartitionRules

Z51_AdvancesAfterAlterPartition == FALSE
==============================================================================
