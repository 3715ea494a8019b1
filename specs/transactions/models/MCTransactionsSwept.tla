------------------------- MODULE MCTransactionsSwept -------------------------
(***************************************************************************)
(* Timeouts as a coordinator has them: it lists what is over its timeout,   *)
(* and acts on each entry of the list later (X26).  In between the          *)
(* transaction may end, and another one begin, which is young.              *)
(***************************************************************************)
EXTENDS MCTransactions

Swept ==
  /\ \/ \E c \in Clients : ClientActions(c)
     \/ Free(Acknowledged) \/ Free(Fence) \/ Free(MarkersDone)
     \/ MessageActions
     \/ \E p \in Partitions : PartitionActions(p)
     \/ Paid("timeouts", MaxTimeouts, ListTimedOut)
     \/ Free(AbortListed)
  /\ HistoryNext

SweptSpec == MCInit /\ [][Swept]_mcVars
=============================================================================
