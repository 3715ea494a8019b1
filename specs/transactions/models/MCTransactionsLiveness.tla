----------------------- MODULE MCTransactionsLiveness ------------------------
(***************************************************************************)
(* Liveness. The coordinator, elections and the delivery of markers are     *)
(* fair. Producers are not: one may fall silent at any time, and its        *)
(* transaction ends by the timeout. Unfair names the omitted fairness       *)
(* conditions, for twins in which a property fails.                         *)
(***************************************************************************)
EXTENDS MCTransactions

CONSTANT Unfair

(* An action that never can be taken is fair.                               *)
Wanted(name, Action) == name \notin Unfair /\ Action /\ HistoryNext

DeliverMarker == \E m \in network : Free(HandleMarker(m))

Fairness ==
  /\ WF_mcVars(Wanted("Acknowledged", Free(Acknowledged)))
  /\ WF_mcVars(Wanted("Fence", Free(Fence)))
  /\ WF_mcVars(Wanted("Loaded", Free(Loaded)))
  /\ WF_mcVars(Wanted("MarkersDone", Free(MarkersDone)))
  /\ WF_mcVars(Wanted("MarkersAgain", Free(MarkersAgain)))
  /\ WF_mcVars(Wanted("DeliverMarker", DeliverMarker))
  /\ WF_mcVars(Wanted("Replicate", \E p \in Partitions : Free(Replicate(p))))
  /\ WF_mcVars(Wanted("FindLeader", \E p \in Partitions : Free(FindLeader(p))))
  /\ WF_mcVars(Wanted("Timeout", Paid("timeouts", MaxTimeouts, TransactionTimeout)))

LiveSpec == MCSpec /\ Fairness

(* What is open in a partition is decided in the end, so that readers of    *)
(* committed data get past it.                                              *)
NoHangingTransaction ==
  \A p \in Partitions : partitions[p].producer.open ~> ~partitions[p].producer.open

(* A decision that is committed is complete in the end.                     *)
DecisionCompletes ==
  Current.txn.state \in {"PrepareCommit", "PrepareAbort"} ~>
    Current.txn.state \notin {"PrepareCommit", "PrepareAbort"}

(* With two replicas: what is committed is shown in the end.                *)
LsoProgress ==
  \A p \in Partitions : \A offset \in 0..3 :
    Len(partitions[p].follower.log) > offset ~> partitions[p].follower.stable > offset
=============================================================================
