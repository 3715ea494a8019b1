--------------------------- MODULE Z34EagerShrink ----------------------------
(* Z34: a proposed shrink counts before the controller has agreed.          *)
EXTENDS PartitionRules

Z34_MaximalIsr(row) ==
  IF row.pending = NoPending THEN row.isr ELSE {m.broker : m \in row.pending.isr}
==============================================================================
