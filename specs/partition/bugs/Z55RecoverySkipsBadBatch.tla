---------------------- MODULE Z55RecoverySkipsBadBatch -----------------------
(* Z55: recovery keeps what lies behind a bad batch.                        *)
EXTENDS PartitionRules

Z55_RecoveredEnd(row) == EndOffset(row.log)
==============================================================================
