-------------------------- MODULE TransactionClient --------------------------
(***************************************************************************)
(* A producer with the transactional id (X32, X33, X37): one instance of    *)
(* it.  A transaction writes at most one batch to a partition; offsets it   *)
(* may send again, once it is answered.                                     *)
(*                                                                          *)
(*   status      "Off", "Initializing", "Ready", "Open", "Ending";          *)
(*               "Fenced", "Failed": it was told so, and does nothing more  *)
(*   epoch       the producer epoch that it was given                       *)
(*   txn         the number of its transaction, known to properties only    *)
(*   sent        the partitions of its batches; with version 1 those that   *)
(*               it asked the coordinator to add                            *)
(*   added       the partitions that it was told are added (version 1)      *)
(*   acked       the partitions whose batch was acknowledged                *)
(*   sequences   the next sequence number for each partition                *)
(*   decision    what it asked for when it ended its transaction            *)
(*                                                                          *)
(* A producer that is told an error does nothing more: it differs from one  *)
(* that waits in that it cannot be answered by a later copy.  So errors     *)
(* change nothing here, unless HearsErrors: then it notes those that no     *)
(* producer survives when it ends a transaction (X36).                      *)
(***************************************************************************)
EXTENDS TransactionRules

CONSTANT HearsErrors   \* whether a producer notes what it was told last

NoSequences == [p \in Partitions |-> 0]

InitialClient(status) ==
  [status |-> status, epoch |-> 0, txn |-> 0, sent |-> {}, added |-> {},
   acked |-> {}, sequences |-> NoSequences, decision |-> "None"]

Doing(row, sent) == {[row |-> row, sent |-> sent]}

Produce(c, row, p) ==
  [type |-> "Produce", client |-> c, partition |-> p, epoch |-> row.epoch, txn |-> row.txn,
   sequence |-> row.sequences[p]]

Add(c, row, p) == [type |-> "AddPartitions", client |-> c, partition |-> p, epoch |-> row.epoch]

EndOf(c, row) ==
  [type |-> "EndTxn", client |-> c, epoch |-> row.epoch, decision |-> row.decision,
   txn |-> row.txn]

MaySendAgain(row, p) == p \in Offsets /\ p \in row.acked

(* With version 1 the coordinator is asked before the batch is sent: once,  *)
(* as it answers the next time without a record (X9).                       *)
Step_Send(c, row, p, txn) ==
  LET open == [row EXCEPT !.status = "Open", !.txn = txn, !.sent = @ \cup {p}, !.acked = @ \ {p}]
      batched == [open EXCEPT !.sequences[p] = @ + 1]
  IN CASE row.status \notin {"Ready", "Open"} -> {}
       [] p \in row.sent /\ ~MaySendAgain(row, p) -> {}
       [] EpochPerTransaction \/ p \in row.added -> Doing(batched, {Produce(c, open, p)})
       [] OTHER -> Doing(open, {Add(c, open, p)})

Step_HandlePartitionAdded(c, row, p) ==
  IF row.status = "Open" /\ p \in row.sent \ row.added
  THEN Doing([row EXCEPT !.added = @ \cup {p}, !.sequences[p] = @ + 1], {Produce(c, row, p)})
  ELSE {}

(* X33: of a copy nobody hears.                                             *)
Step_HandleProduced(row, m) ==
  IF row.status = "Open" /\ m.txn = row.txn /\ m.sequence + 1 = row.sequences[m.partition]
  THEN Doing([row EXCEPT !.acked = @ \cup {m.partition}], {}) ELSE {}

(* Nothing is ended that the coordinator knows nothing of.                  *)
HasBegun(row) == row.status = "Open" /\ (EpochPerTransaction \/ row.added # {})

(* Commit waits for every batch; abort may come at any time.                *)
Step_End(c, row, decision) ==
  LET ending == [row EXCEPT !.status = "Ending", !.decision = decision]
  IN IF HasBegun(row) /\ (decision = "Commit" => row.acked = row.sent)
     THEN Doing(ending, {EndOf(c, ending)}) ELSE {}

Step_HandleEnded(row, m, epoch) ==
  IF row.status = "Ending" /\ m.txn = row.txn
  THEN Doing([InitialClient("Ready") EXCEPT
                !.epoch = epoch,
                !.sequences = IF EpochPerTransaction THEN NoSequences ELSE row.sequences], {})
  ELSE {}

(* X36.  After these a producer is unusable.                                *)
Fatal == {"PRODUCER_FENCED", "INVALID_TXN_STATE"}

Step_HandleEndRefused(row, m, error) ==
  IF HearsErrors /\ error \in Fatal /\ row.status = "Ending" /\ m.txn = row.txn
  THEN Doing([row EXCEPT !.status = IF error = "PRODUCER_FENCED" THEN "Fenced" ELSE "Failed"], {})
  ELSE {}

Step_Initialize(row) ==
  IF row.status = "Off" THEN Doing(InitialClient("Initializing"), {}) ELSE {}

Step_HandleInitialized(row, epoch) ==
  IF row.status = "Initializing"
  THEN Doing([InitialClient("Ready") EXCEPT !.epoch = epoch], {}) ELSE {}
=============================================================================
