------------------------- MODULE MCTransactionsSwept -------------------------
(***************************************************************************)
(* Timeouts as a coordinator has them: it lists what is over its timeout,   *)
(* and acts on each entry of the list later (X8).  In between the           *)
(* transaction may end, and another one begin, which is young.              *)
(***************************************************************************)
EXTENDS MCTransactions

VARIABLE
  listed,   \* the epoch of the transaction that is in the list, or Unknown
  old       \* the epochs of those that were over their timeout

sweptVars == <<mcVars, listed, old>>

(* Of what is listed, that which is aborted is the transaction that was     *)
(* listed: asked under the lock of its row.                                 *)
StillListed(row, epoch) == row.txn.epoch = epoch

(* Kafka asks for the producer alone (abortTimedOutTransactions).           *)
NotAsked(row, epoch) == TRUE

ListsTimedOut ==
  /\ listed = Unknown
  /\ Current.active /\ Current.txn.state = "Ongoing" /\ Current.pending.state = "None"
  /\ listed' = Current.txn.epoch
  /\ old' = old \cup {listed'}
  /\ UNCHANGED mcVars

ActsOnListed ==
  /\ listed # Unknown
  /\ listed' = Unknown
  /\ UNCHANGED old
  /\ IF StillListed(Current, listed) /\ Step_HandleTransactionTimeout(Current) # {}
     THEN Paid("timeouts", MaxTimeouts, TransactionTimeout) /\ HistoryNext
     ELSE UNCHANGED mcVars

Swept ==
  /\ \/ \E c \in Clients : ClientActions(c)
     \/ Free(Acknowledged) \/ Free(Fence) \/ Free(MarkersDone)
     \/ MessageActions
     \/ \E p \in Partitions : PartitionActions(p)
  /\ HistoryNext
  /\ UNCHANGED <<listed, old>>

SweptInit == MCInit /\ listed = Unknown /\ old = {}
SweptSpec == SweptInit /\ [][Swept \/ ListsTimedOut \/ ActsOnListed]_sweptVars

(* Only what took too long is aborted for its age.  There is one producer,  *)
(* so that nothing else fences.                                             *)
AbortedIsOld == Current.pending.state = "PrepareEpochFence" => Current.txn.epoch \in old
=============================================================================
