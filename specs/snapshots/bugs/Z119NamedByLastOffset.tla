------------------------ MODULE Z119NamedByLastOffset ------------------------
(* Z119 (KAFKA-14618): a snapshot is named by the offset of its last record,*)
(* not by that after it, and so has one record more than it says.          *)
EXTENDS SnapshotRules

Z119_SnapshotTaken(row, end) ==
  [endOffset |-> end - 1, epoch |-> LogOfRow(row)[end].epoch,
   records |-> Prefix(LogOfRow(row), end)]
==============================================================================
