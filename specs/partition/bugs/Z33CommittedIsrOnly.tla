------------------------- MODULE Z33CommittedIsrOnly -------------------------
(* Z33 (KIP-497): the high watermark waits for the committed ISR, and not for*)
(* a member that is about to join.                                          *)
EXTENDS PartitionRules

Z33_HighWatermarkQuorum(row) == row.isr
==============================================================================
