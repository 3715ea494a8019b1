--------------------------- MODULE AnotherEndTold ----------------------------
(* A fault for properties to find: who ends its transaction is told the     *)
(* epoch of the next end (X21).                                             *)
EXTENDS TransactionRules

Fault_EndAnsweredEpoch(epoch) == epoch + 1
=============================================================================
