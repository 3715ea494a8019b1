-------------------------- MODULE Z95UncommittedTail -------------------------
(* Z95 (KAFKA-16973): an operation without records waits only for           *)
(* operations of this coordinator, and not for what it has loaded (G3).     *)
EXTENDS GroupRules

Z95_WaitsForWritten(row) == row.waiting # {}
=============================================================================
