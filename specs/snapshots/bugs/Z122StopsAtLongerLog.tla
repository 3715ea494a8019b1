------------------------ MODULE Z122StopsAtLongerLog -------------------------
(* Z122 (Apache Kafka 4.3.1): a log is replaced by a snapshot only if that is*)
(* ahead of it; if not, the process stops.                                 *)
EXTENDS SnapshotRules

Z122_ReplacesLog(row, snapshot) ==
  \/ snapshot.epoch > LastEpochOf(row)
  \/ snapshot.epoch = LastEpochOf(row) /\ snapshot.endOffset > EndOffset(LogOfRow(row))
==============================================================================
