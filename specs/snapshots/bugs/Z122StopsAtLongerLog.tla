------------------------ MODULE Z122StopsAtLongerLog -------------------------
(* Z122 (Apache Kafka 4.3.1): a snapshot replaces a log only if it is ahead  *)
(* of it; a node whose log ends in a later epoch stops.                      *)
EXTENDS SnapshotRules

Z122_ReplacesLog(row, snapshot) == SnapshotIsAhead(row, snapshot)
=============================================================================
