---------------------------- MODULE Z121KeepsLog -----------------------------
(* Z121 (a mutant of V7): a log is kept when a snapshot is loaded, as far as*)
(* it goes; only what it lacks is taken from the snapshot.                 *)
EXTENDS SnapshotRules

Z121_LogAfterSnapshot(row, snapshot) ==
  LogOfRow(row) \o SubSeq(snapshot.records, Len(LogOfRow(row)) + 1, snapshot.endOffset)
==============================================================================
