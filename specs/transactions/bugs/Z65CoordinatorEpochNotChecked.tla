-------------------- MODULE Z65CoordinatorEpochNotChecked --------------------
(* Z65: the marker of a coordinator that was replaced is taken (T4).        *)
EXTENDS TransactionRules

Z65_IsCoordinatorFenced(producer, m) == FALSE
=============================================================================
