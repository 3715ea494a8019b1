---------------------------- MODULE SnapshotBugs -----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS SnapshotRules

(* Z111 (Apache Kafka 4.3.1): a snapshot trims the history at its end, that*)
(* offset included: a set that is appended just there, and not committed,  *)
(* evicts the one below it, and nothing is left when it is truncated.      *)
Z111_HistoryAfterSnapshot(history, end) ==
  LET below == SelectSeq(history, LAMBDA set : set.offset <= end)
  IN IF below = <<>> THEN history
     ELSE <<LastOf(below)>> \o SelectSeq(history, LAMBDA set : set.offset > end)

(* Z119 (KAFKA-14618): a snapshot is named by the offset of its last        *)
(* record, not by the next one, so it has one record more than its name     *)
(* says.                                                                    *)
Z119_SnapshotTaken(row, end) ==
  [endOffset |-> end - 1, epoch |-> row.log[end].epoch, records |-> Prefix(row.log, end)]

(* Z120 (a mutant of V3): what is committed is deleted, be it in a snapshot*)
(* or not.                                                                 *)
Z120_PrefixDeletable(row, offset) ==
  row.logStart < offset /\ offset <= row.highWatermark

(* Z121 (a mutant of V7): a log is kept when a snapshot is loaded, as far as*)
(* it goes; only what it lacks is taken from the snapshot.                 *)
Z121_LogAfterSnapshot(row, snapshot) ==
  row.log \o SubSeq(snapshot.records, Len(row.log) + 1, snapshot.endOffset)

(* Z122 (Apache Kafka 4.3.1): a snapshot replaces a log only if it is ahead  *)
(* of it; a node whose log ends in a later epoch stops.                      *)
Z122_ReplacesLog(row, snapshot) == SnapshotIsAhead(row, snapshot)

(* Z128 (Apache Kafka 4.3.1): the end of a snapshot counts as the last      *)
(* offset in it, so a batch of one record at that offset is missing in the  *)
(* state to which a controller returns.                                     *)
Z128_StableAfterSnapshot(end) == end + 1

(* Z312 (a mutant of V5): the epoch of a fetch is held against that of the  *)
(* snapshot wherever the fetch begins, not at the start of the log alone.   *)
Z312_FetchNeedsSnapshot(row, m) ==
  /\ row.snapshots # {}
  /\ \/ m.fetchOffset = 0
     \/ m.fetchOffset < row.logStart
     \/ m.lastFetchedEpoch # Earliest(row.snapshots).epoch
==============================================================================
