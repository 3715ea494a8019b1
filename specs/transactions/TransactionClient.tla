-------------------------- MODULE TransactionClient --------------------------
(***************************************************************************)
(* A producer with the transactional id (X32, X33, X37): one instance of    *)
(* it.  A transaction writes one batch to a partition, or more where the    *)
(* producer does not wait for answers (SendMore); offsets it may send       *)
(* again, once they are answered.                                           *)
(*                                                                          *)
(*   status      "Off", "Initializing", "Ready", "Open", "Ending";          *)
(*               "Fenced", "Failed", "Unusable": by an error, and does      *)
(*               nothing more; "Abortable": it can only abort; "Recovering",*)
(*               "Bumping": it has asked for that, and asks for another     *)
(*               epoch then (version 1)                                     *)
(*   epoch       the producer epoch that it was given                       *)
(*   txn         the number of its transaction, known to properties only    *)
(*   sent        the partitions of its batches; with version 1 those that   *)
(*               it asked the coordinator to add                            *)
(*   added       the partitions confirmed as added (version 1)              *)
(*   acked       the partitions whose batch was acknowledged                *)
(*   sequences   the next sequence number for each partition                *)
(*   decision    what it asked for when it ended its transaction            *)
(*                                                                          *)
(* A producer that receives an error does nothing more. It differs from a   *)
(* waiting one only in that no later copy can answer it. So errors change   *)
(* nothing here, with two exceptions. With HearsErrors it records errors    *)
(* that no producer survives at the end of a transaction (X36). With        *)
(* Recovers it handles all errors, gives batches up, and continues if       *)
(* possible.                                                                *)
(***************************************************************************)
EXTENDS TransactionRules

CONSTANT HearsErrors   \* whether a producer notes what ends its use, at the end of a transaction

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

Bump(c, row) == [type |-> "BumpEpoch", client |-> c, epoch |-> row.epoch]

MaySendAgain(row, p) == p \in Offsets /\ p \in row.acked

(* ACTION Send                                                              *)
(* WHO    a producer                                                        *)
(* WHAT   It sends the first batch of a partition. With version 1 it asks   *)
(*        the coordinator first, once: the next time the coordinator        *)
(*        confirms without a record (X9).                                   *)
Step_Send(c, row, p, txn) ==
  LET open == [row EXCEPT !.status = "Open", !.txn = txn, !.sent = @ \cup {p}, !.acked = @ \ {p}]
      batched == [open EXCEPT !.sequences[p] = @ + 1]
  IN CASE row.status \notin {"Ready", "Open"} -> {}
       [] p \in row.sent /\ ~MaySendAgain(row, p) -> {}
       [] EpochPerTransaction \/ p \in row.added -> Doing(batched, {Produce(c, open, p)})
       [] OTHER -> Doing(open, {Add(c, open, p)})

(* ACTION SendMore                                                          *)
(* WHO    a producer                                                        *)
(* WHAT   It sends a further batch, whatever happened to the earlier ones.  *)
Step_SendMore(c, row, p) ==
  IF \/ row.status # "Open" \/ p \notin row.sent \ Offsets
     \/ ~EpochPerTransaction /\ p \notin row.added
  THEN {}
  ELSE Doing([row EXCEPT !.acked = @ \ {p}, !.sequences[p] = @ + 1], {Produce(c, row, p)})

(* ACTION HandlePartitionAdded                                              *)
(* WHO    a producer of version 1                                           *)
(* WHAT   The coordinator has added the partition, and the batch is sent.   *)
Step_HandlePartitionAdded(c, row, p) ==
  IF row.status = "Open" /\ p \in row.sent \ row.added
  THEN Doing([row EXCEPT !.added = @ \cup {p}, !.sequences[p] = @ + 1], {Produce(c, row, p)})
  ELSE {}

(* ACTION HandleProduced                                                    *)
(* WHO    a producer                                                        *)
(* WHAT   A batch is acknowledged, and with it the earlier ones. Responses  *)
(*        to copies are ignored (X33).                                      *)
Step_HandleProduced(row, m) ==
  IF row.status = "Open" /\ m.txn = row.txn /\ m.sequence + 1 = row.sequences[m.partition]
  THEN Doing([row EXCEPT !.acked = @ \cup {m.partition}], {}) ELSE {}

(* Nothing is ended that the coordinator knows nothing of.                  *)
HasBegun(row) ==
  row.status \in {"Open", "Abortable"} /\ (EpochPerTransaction \/ row.added # {})

(* It has an epoch, and nothing else.                                       *)
Restarted(row, epoch) ==
  [InitialClient("Ready") EXCEPT
     !.epoch = epoch,
     !.sequences = IF EpochPerTransaction THEN NoSequences ELSE row.sequences]

Bumping(c, row) ==
  LET bumping == [InitialClient("Bumping") EXCEPT !.epoch = row.epoch]
  IN Doing(bumping, {Bump(c, bumping)})

Recovered(c, row) == IF BumpsEpoch THEN Bumping(c, row) ELSE Doing(Restarted(row, row.epoch), {})

(* ACTION End                                                               *)
(* WHO    a producer                                                        *)
(* WHAT   It requests a commit or an abort, or recovers where nothing has   *)
(*        begun (X32).                                                      *)
Step_End(c, row, decision) ==
  LET survives == row.status = "Abortable" /\ decision = "Abort" /\ ~EpochPerTransaction
      ending == [row EXCEPT !.status = IF survives THEN "Recovering" ELSE "Ending",
                            !.decision = decision]
  IN CASE ~(IF decision = "Commit" THEN MayCommit(row) ELSE MayAbort(row)) -> {}
       [] HasBegun(row) -> Doing(ending, {EndOf(c, ending)})
       [] survives -> Recovered(c, row)
       [] OTHER -> {}

(* ACTION HandleEnded                                                       *)
(* WHO    a producer                                                        *)
(* WHAT   Its transaction has ended. It is ready with the epoch that it     *)
(*        receives, or requests another one.                                *)
Step_HandleEnded(c, row, m, epoch) ==
  CASE m.txn # row.txn -> {}
    [] row.status = "Ending" -> Doing(Restarted(row, epoch), {})
    [] row.status = "Recovering" -> Recovered(c, row)
    [] OTHER -> {}

(* ACTION HandleBumped                                                      *)
(* WHO    a producer                                                        *)
(* WHAT   It has another epoch (X7).                                        *)
Step_HandleBumped(row, m, epoch) ==
  IF row.status = "Bumping" /\ m.epoch = row.epoch
  THEN Doing([InitialClient("Ready") EXCEPT !.epoch = epoch], {}) ELSE {}

(* The errors after which a producer is unusable (X36).                     *)
Fatal == {"PRODUCER_FENCED", "INVALID_TXN_STATE"}

(* ACTION HandleEndRefused                                                  *)
(* WHO    a producer                                                        *)
(* WHAT   Its end is refused for good (X36).                                *)
Step_HandleEndRefused(row, m, error) ==
  IF HearsErrors /\ error \in Fatal /\ row.status = "Ending" /\ m.txn = row.txn
  THEN Doing([row EXCEPT !.status = IF error = "PRODUCER_FENCED" THEN "Fenced" ELSE "Failed"], {})
  ELSE {}

(* The effect of an error on the sender; none if it already has its         *)
(* response.                                                                *)
AfterError(row, m, error) ==
  CASE m.type = "InitProducerId" /\ row.status = "Initializing" -> AfterInitError(error)
    [] m.type = "BumpEpoch" /\ row.status = "Bumping" /\ m.epoch = row.epoch ->
         AfterInitError(error)
    [] m.type = "EndTxn" /\ row.status \in {"Ending", "Recovering"} /\ m.txn = row.txn ->
         AfterEndError(m.decision, error)
    [] /\ m.type = "AddPartitions" /\ row.status = "Open" /\ m.epoch = row.epoch
       /\ m.partition \in row.sent \ row.added -> AfterAddError(m.partition \in Offsets, error)
    [] /\ m.type = "Produce" /\ row.status = "Open" /\ m.txn = row.txn
       /\ m.partition \in row.sent \ row.acked /\ m.sequence + 1 = row.sequences[m.partition] ->
         IF m.partition \in Offsets THEN AfterOffsetsError(error) ELSE AfterBatchError(error)
    [] OTHER -> "Retry"

(* ACTION HandleRefused                                                     *)
(* WHO    a producer                                                        *)
(* WHAT   A request is refused. The state after the error depends on the    *)
(*        request (X36).                                                    *)
Step_HandleRefused(row, m, error) ==
  LET after == AfterError(row, m, error)
  IN IF Recovers /\ after # "Retry" THEN Doing([row EXCEPT !.status = after], {}) ELSE {}

(* ACTION GiveUp                                                            *)
(* WHO    a producer                                                        *)
(* WHAT   It gives a batch up that was not acknowledged within              *)
(*        delivery.timeout.ms; or its group refuses offsets with another    *)
(*        generation (KIP-447). A copy may still arrive (X36).              *)
Step_GiveUp(row, p) ==
  LET after == IF p \in Offsets THEN AfterOffsetsError("ILLEGAL_GENERATION")
               ELSE AfterBatchError("TIMED_OUT")
  IN IF Recovers /\ after # "Retry" /\ row.status = "Open" /\ p \in row.sent \ row.acked
     THEN Doing([row EXCEPT !.status = after], {}) ELSE {}

(* ACTION Initialize                                                        *)
(* WHO    a producer that is off                                            *)
(* WHAT   It requests a producer id and an epoch (X6).                      *)
Step_Initialize(row) ==
  IF row.status = "Off" THEN Doing(InitialClient("Initializing"), {}) ELSE {}

(* ACTION HandleInitialized                                                 *)
(* WHO    a producer                                                        *)
(* WHAT   It has an epoch, and is ready.                                    *)
Step_HandleInitialized(row, epoch) ==
  IF row.status = "Initializing"
  THEN Doing([InitialClient("Ready") EXCEPT !.epoch = epoch], {}) ELSE {}
=============================================================================
