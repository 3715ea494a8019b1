----------------------- MODULE MCTransactionOutcomes ------------------------
(***************************************************************************)
(* Transactions of version 2 refine TransactionOutcomes.  A transaction is  *)
(* known by the epoch that it ends with, one more than that of its batches; *)
(* version 1 has no such name for it.  What is decided is the committed     *)
(* Prepare record, so that nothing else decides: each marker, Complete      *)
(* record and answer changes nothing there, or reads it.                    *)
(*                                                                          *)
(* Not where an append is given up (X3): a Prepare record that is committed *)
(* nevertheless may be overruled (outcomes-overruled).                      *)
(***************************************************************************)
EXTENDS MCTransactions

TxnOfBatch(record) == record.epoch + 1

(* All that these bounds come to; another one would be an error of TLC.     *)
Txns == 1..9

-----------------------------------------------------------------------------
(* The mapping.                                                             *)

Decision(t) ==
  LET found == {DecisionIs(d.state) : d \in {d \in decided :
                  d.epoch = t /\ d.state \in {"PrepareCommit", "PrepareAbort"}}}
  IN CASE found = {} -> "None"
       [] found = {"Commit"} -> "Commit"
       [] found = {"Abort"} -> "Abort"
       [] OTHER -> "Both"

(* What no change of leaders takes back, and how much of it readers get.    *)
Kept(p) == IF HasFollower(p) THEN partitions[p].follower.log ELSE partitions[p].log

MarkersBehind(records, i) == {j \in (i + 1)..Len(records) : records[j].kind = "Marker"}

Stable(p) ==
  LET records == Kept(p)
      open == {i \in 1..Len(records) :
                 records[i].kind = "Batch" /\ MarkersBehind(records, i) = {}}
  IN CASE HasFollower(p) -> partitions[p].follower.stable
       [] open = {} -> Len(records)
       [] OTHER -> (CHOOSE i \in open : \A j \in open : i <= j) - 1

NoTxn == 0

Written(p) ==
  LET records == Kept(p)
  IN [i \in 1..Len(records) |->
        IF records[i].kind = "Batch" THEN TxnOfBatch(records[i]) ELSE NoTxn]

TakenAs(records, i) ==
  LET behind == MarkersBehind(records, i)
  IN IF records[i].kind # "Batch" \/ behind = {} THEN "None"
     ELSE records[CHOOSE j \in behind : \A k \in behind : j <= k].decision

Passed(p) == [i \in 1..Stable(p) |-> TakenAs(Kept(p), i)]

(* The first epoch of a producer id follows the last one of that before.    *)
Answered ==
  {<<IF IsFirstOfId(t.epoch) THEN t.epoch - 1 ELSE t.epoch, t.decision>> : t \in told}

Outcomes == INSTANCE TransactionOutcomes WITH
  decision <- [t \in Txns |-> Decision(t)],
  written <- [p \in Partitions |-> Written(p)],
  passed <- [p \in Partitions |-> Passed(p)],
  answered <- Answered

(* Outcomes!Spec, in two pieces, so that TLC has a name for its steps.      *)
(* Each part of a step is checked only where something is changed that it is*)
(* about: where nothing is, it holds.                                       *)
Logs == [p \in Partitions |-> <<partitions[p].log, partitions[p].follower>>]

OutcomesBegin == Outcomes!Init
OutcomesRefined ==
  [][/\ decided' # decided => Outcomes!Decide
     /\ Logs' # Logs => Outcomes!Write /\ Outcomes!Read
     /\ told' # told => Outcomes!Tell]_<<decided, told, partitions>>
=============================================================================
