-------------------------- MODULE OtherRecordLogged --------------------------
(* A fault for properties to find: a record of another epoch is logged than  *)
(* the one that is pending (X1).                                            *)
EXTENDS TransactionCoordinator

Fault_Begin(row, state, epoch, partitions, request) ==
  Outcome([row EXCEPT !.pending =
             [state |-> state, epoch |-> epoch, partitions |-> partitions, logged |-> TRUE,
              request |-> request]],
          <<[state |-> state, epoch |-> epoch + 1, partitions |-> partitions,
             leaderEpoch |-> row.coordinatorEpoch]>>,
          {}, {})
=============================================================================
