----------------------- MODULE MarkerLogsAnotherEpoch ------------------------
(* A fault for properties to find: a marker that stands in the log with     *)
(* another epoch than the one that the partition remembers (X14).           *)
EXTENDS TransactionPartition

Fault_MarkerRecord(m) ==
  [kind |-> "Marker", txn |-> 0, client |-> 0, epoch |-> m.epoch - 1, decision |-> m.decision]
=============================================================================
