------------------------ MODULE TransactionPartition ------------------------
(***************************************************************************)
(* The leader of a data partition with batches and markers (X11, X13, X14). *)
(* With one replica appended records are committed; PartitionReplication    *)
(* models elections. With two replicas the other one has the log up to the  *)
(* high watermark and may lead at any time, and a write is acknowledged     *)
(* when the other one has it.                                               *)
(*                                                                          *)
(*   log         batches and markers                                        *)
(*   producer    what the log says of the producer: epoch, coordinatorEpoch,*)
(*               sequence (the next one, Unknown: no batch is remembered),  *)
(*               open (a transaction is)                                    *)
(*   guard       the epoch of the guard that stands here, or Unknown        *)
(*   verifying   batches that wait for the coordinator or have its answer:  *)
(*               request; guarded: no other guard has replaced the one that *)
(*               it came with; answered                                     *)
(*                                                                          *)
(*   follower    the other replica, if there is one: its log and what that  *)
(*               says of the producer; stable: the last stable offset that  *)
(*               the leader shows                                           *)
(*                                                                          *)
(*   offsets     of a partition that keeps a group's: committed, those that *)
(*               the group receives; pending, the last that the transaction *)
(*               at hand has sent; marker, what was decided of them and is  *)
(*               not applied yet                                            *)
(*                                                                          *)
(* Such a partition is a partition of data (X28, X29): AddOffsetsToTxn is   *)
(* AddPartitions, a TxnOffsetCommit a batch, of which a transaction may     *)
(* send several.                                                            *)
(*                                                                          *)
(* Guards are unique, so all that matters of an old one is that it is old.  *)
(***************************************************************************)
EXTENDS TransactionRules

UnknownProducer ==
  [epoch |-> Unknown, coordinatorEpoch |-> 0, sequence |-> Unknown, open |-> FALSE]

NoFollower == [type |-> "None"]

(* Offsets are identified by their sender and their number.                 *)
NoCommit == [txn |-> 0, sequence |-> Unknown]
NoOffsets == [type |-> "None"]
InitialOffsets ==
  [type |-> "KeptOffsets", committed |-> NoCommit, pending |-> NoCommit, marker |-> "None"]

InitialPartition ==
  [log |-> <<>>, producer |-> UnknownProducer, guard |-> Unknown, verifying |-> {},
   offsets |-> NoOffsets,
   follower |-> IF Replicas = 1 THEN NoFollower
                ELSE [type |-> "Follower", log |-> <<>>, producer |-> UnknownProducer,
                      stable |-> 0]]
InitialOffsetsPartition == [InitialPartition EXCEPT !.offsets = InitialOffsets]

(* What no change of leaders takes back: the log, and the producer's state. *)
Committed(row) == IF row.follower = NoFollower THEN row ELSE row.follower

IsReplicated(row) ==
  Committed(row).log = row.log /\ Committed(row).producer = row.producer

(* The leader shows what it finds stable.                                   *)
Showing(row) ==
  IF row.follower = NoFollower THEN row
  ELSE [row EXCEPT !.follower.stable = LastStableOffset(row)]

BatchRecord(m) ==
  [kind |-> "Batch", txn |-> m.txn, client |-> m.client, epoch |-> m.epoch,
   sequence |-> m.sequence, decision |-> "None"]
MarkerRecord(m) ==
  [kind |-> "Marker", txn |-> 0, client |-> 0, epoch |-> m.epoch, sequence |-> Unknown,
   decision |-> m.decision]

-----------------------------------------------------------------------------
(* Offsets.                                                                 *)

CommitOf(m) == [txn |-> m.txn, sequence |-> m.sequence]

(* X29.  Of those that a transaction has sent the last one counts.          *)
WithSent(offsets, m) ==
  IF offsets = NoOffsets THEN offsets ELSE [offsets EXCEPT !.pending = CommitOf(m)]

Applied(offsets, decision) ==
  [offsets EXCEPT !.committed = IF decision = "Commit" /\ offsets.pending # NoCommit
                                THEN offsets.pending ELSE @,
                  !.pending = NoCommit, !.marker = "None"]

(* X30.                                                                     *)
WithMarker(offsets, decision) ==
  CASE offsets = NoOffsets -> offsets
    [] IsAppliedAtOnce(offsets) -> Applied(offsets, decision)
    [] OTHER -> [offsets EXCEPT !.marker = decision]

(* What a new leader finds in its log: of each transaction the last.        *)
LoadedOffsets(records) ==
  LET last == Len(records)
      done == {i \in 1..(last - 1) : /\ records[i].kind = "Batch"
                                     /\ records[i + 1].decision = "Commit"}
  IN [InitialOffsets EXCEPT
        !.committed = IF done = {} THEN @
                      ELSE CommitOf(records[CHOOSE i \in done : \A j \in done : j <= i]),
        !.pending = IF last > 0 /\ records[last].kind = "Batch" THEN CommitOf(records[last])
                    ELSE @]

-----------------------------------------------------------------------------
(* Batches and markers.                                                     *)

Taken(row, error) == {[row |-> row, error |-> error]}

Outdated(verifying) == {[v EXCEPT !.guarded = FALSE] : v \in verifying}

WithBatch(row, m) ==
  Showing(
    [row EXCEPT
       !.log = Append(@, BatchRecord(m)),
       !.producer.epoch = m.epoch,
       !.producer.sequence = m.sequence + 1,
       !.producer.open = TRUE,
       !.guard = Unknown,
       !.verifying = Outdated({v \in @ : v.request # m}),
       !.offsets = WithSent(@, m)])

(* What will be refused for ever, as epochs only grow, is forgotten.        *)
WithoutRefused(row) ==
  [row EXCEPT !.verifying = {v \in @ : v.request.epoch >= row.producer.epoch}]

(* ACTION HandleProduce                                                     *)
(* WHO    a partition's leader                                              *)
(* WHAT   A batch arrives. It is appended, refused, or must be verified     *)
(*        (X11a, X13).                                                      *)
Step_HandleProduce(row, m) ==
  LET known == {v \in row.verifying : v.request = m /\ v.guarded}
      error == BatchError(row.producer, m, FALSE)
  IN CASE IsDuplicateBatch(row.producer, m) -> Taken(row, "NONE")
       [] m.epoch < row.producer.epoch -> Taken(row, "INVALID_PRODUCER_EPOCH")
       [] ~NeedsVerification(row.producer, m.epoch) ->
            Taken(IF error = "NONE" THEN WithBatch(row, m) ELSE row, error)
       [] known # {} -> {}
       [] OTHER ->
            Taken([row EXCEPT
                     !.guard = IF m.epoch > @ THEN m.epoch ELSE @,
                     !.verifying = {v \in @ : v.request # m}
                        \cup {[request |-> m, guarded |-> TRUE, answered |-> FALSE]}],
                  "WAIT")

(* ACTION HandleAllowed                                                     *)
(* WHO    a partition's leader                                              *)
(* WHAT   The coordinator admits the batches of this epoch (X11b).          *)
Step_HandleAllowed(row, epoch) ==
  Taken([row EXCEPT !.verifying =
           {[v EXCEPT !.answered = @ \/ v.request.epoch = epoch] : v \in @}], "WAIT")

(* X11b: it does not, whatever happens: they are refused.                   *)
Waiting(row, epoch) == {v \in row.verifying : v.request.epoch = epoch /\ ~v.answered}

(* ACTION HandleNotAllowed                                                  *)
(* WHO    a partition's leader                                              *)
(* WHAT   The coordinator does not admit them, for any reason: the waiting  *)
(*        batches are refused (X11b).                                       *)
Step_HandleNotAllowed(row, epoch) ==
  IF Waiting(row, epoch) = {} THEN {}
  ELSE Taken([row EXCEPT !.verifying = @ \ Waiting(row, epoch)], "WAIT")

(* ACTION HandleVerified                                                    *)
(* WHO    a partition's leader                                              *)
(* WHAT   A verified batch is appended, or refused after all (X11c, X13).   *)
Step_HandleVerified(row, v) ==
  LET refused == BatchError(row.producer, v.request, IsGuarded(row.guard, v))
      error == IF refused = "NONE" /\ WaitsForLower(row.verifying, v)
               THEN "OUT_OF_ORDER_SEQUENCE_NUMBER" ELSE refused
      without == [row EXCEPT !.verifying = @ \ {v}]
  IN CASE ~v.answered -> {}
       [] IsDuplicateBatch(row.producer, v.request) -> Taken(without, "NONE")
       [] error = "NONE" -> Taken(WithBatch(row, v.request), "NONE")
       [] OTHER -> Taken(without, error)

(* ACTION HandleMarker                                                      *)
(* WHO    a partition's leader                                              *)
(* WHAT   It appends a marker and ends the transaction. A repeated marker is *)
(*        not appended again (in Kafka it is); its guard and coordinator    *)
(*        epoch count (X14).                                                *)
Step_HandleMarker(row, m) ==
  LET record == MarkerRecord(m)
      again == row.log # <<>> /\ row.log[Len(row.log)] = record
      clears == MarkerClearsGuard(row.guard, m)
  IN IF MarkerError(row.producer, m) # "NONE" THEN Taken(row, MarkerError(row.producer, m))
     ELSE Taken(Showing(
       [row EXCEPT
          !.log = IF again THEN @ ELSE Append(@, record),
          !.producer = [epoch |-> m.epoch, coordinatorEpoch |-> m.coordinatorEpoch,
                        sequence |-> IF @.epoch = m.epoch THEN @.sequence ELSE Unknown,
                        open |-> FALSE],
          !.guard = IF clears THEN Unknown ELSE @,
          !.verifying = IF clears THEN Outdated(@) ELSE @,
          !.offsets = WithMarker(@, m.decision)]),
       "NONE")

(* The response to a reader for the records after an offset. For each       *)
(* aborted transaction, first and last are the positions of its batches and *)
(* its marker (X18).                                                        *)
AbortedIn(records) ==
  LET isMarker(i) == records[i].kind = "Marker"
      begins(i) == ~isMarker(i) /\ (i = 1 \/ isMarker(i - 1))
  IN {[first |-> i, last |-> j] :
        <<i, j>> \in {<<i, j>> \in (1..Len(records)) \X (1..Len(records)) :
          /\ i < j /\ begins(i) /\ records[j].decision = "Abort"
          /\ \A k \in i..(j - 1) : ~isMarker(k)}}

Fetched(row, offset, isolation) ==
  LET end == ReadUpTo(row, isolation)
  IN [offset |-> offset, records |-> SubSeq(row.log, offset + 1, end),
      aborted |-> IF isolation = "read_committed"
                  THEN AbortedAmong(AbortedIn(row.log), offset, end) ELSE {}]

(* ACTION HandleReplicate                                                   *)
(* WHO    the other replica                                                 *)
(* WHAT   It fetches everything that it lacks.                              *)
Step_HandleReplicate(row) ==
  IF IsReplicated(row) THEN {}
  ELSE Taken(Showing([row EXCEPT !.follower.log = row.log, !.follower.producer = row.producer]),
             "WAIT")

(* ACTION HandleChangeLeader                                                *)
(* WHO    the other replica                                                 *)
(* WHAT   It becomes the leader with its own log, and the former leader     *)
(*        keeps its log. Guards belong to the leader.                       *)
Step_HandleChangeLeader(row) ==
  IF row.follower = NoFollower THEN {}
  ELSE Taken(Showing([row EXCEPT !.log = row.follower.log, !.producer = row.follower.producer,
                                 !.guard = Unknown, !.verifying = {},
                                 !.offsets = IF @ = NoOffsets THEN @
                                             ELSE LoadedOffsets(row.follower.log)]),
             "WAIT")

(* ACTION HandleApplyMarker                                                 *)
(* WHO    the group's coordinator                                           *)
(* WHAT   It applies the decision, if it has not done so at once (X30).     *)
Step_HandleApplyMarker(row) ==
  IF row.offsets = NoOffsets THEN {}
  ELSE IF row.offsets.marker = "None" THEN {}
  ELSE Taken([row EXCEPT !.offsets = Applied(@, row.offsets.marker)], "WAIT")

(* ACTION HandleSweep                                                       *)
(* WHO    a partition's leader                                              *)
(* WHAT   It forgets an idle producer; the log stays (X16).                 *)
Step_HandleSweep(row) ==
  IF IsProducerExpired(row.producer) /\ row.producer # UnknownProducer
  THEN Taken([row EXCEPT !.producer = UnknownProducer], "WAIT") ELSE {}
=============================================================================
