------------------------- MODULE BatchAppendedAgain --------------------------
(* A fault for properties to find (Z58 of the partition): a batch that is   *)
(* sent again is appended again (T1, T3).                                   *)
EXTENDS TransactionRules

Fault_IsDuplicateBatch(producer, m) == FALSE
Fault_BatchError(producer, m, guarded) ==
  CASE m.epoch < producer.epoch -> "INVALID_PRODUCER_EPOCH"
    [] NeedsVerification(producer, m.epoch) /\ ~guarded -> "INVALID_TXN_STATE"
    [] OTHER -> "NONE"
=============================================================================
