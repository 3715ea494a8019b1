---------------------------- MODULE GroupOffsets ----------------------------
(***************************************************************************)
(* Offsets (G24, G25, G28-G30, G32, G33, G35-G37): those that a group has   *)
(* committed,                                                               *)
(* as its coordinator keeps them, and one consumer, which takes partitions  *)
(* and gives them up, fetches, hands records out, and commits by itself.    *)
(* The row:                                                                 *)
(*                                                                          *)
(*   committed     offsets: of a partition, with the time of the commit;    *)
(*                 anew: of a new topic, while the partition is `renewed`   *)
(*   group         "Empty", "Rebalancing", "Stable", "Dead" (deleted), since*)
(*                 when: `since`                                            *)
(*   now           the time                                                 *)
(*   taken         the partitions that the consumer has                     *)
(*   positions     of those that have one: what was fetched, up to where,   *)
(*                 and what was handed out of it                            *)
(*   update        of positions: "None", "Asked" for what was committed,    *)
(*                 "Heard", after which the others are reset                *)
(*   asked         the requested partitions                                 *)
(*   epoch         of the consumer as a member                              *)
(*   requested     a commit that the application has asked for, with the    *)
(*                 epoch of that moment, in a set of one; or nothing;       *)
(*                 sends: the offset is to be sent in the transaction       *)
(*   revoking      the partitions that are being given up: they have been   *)
(*                 committed, and callbacks run                             *)
(*   transaction   the number of the application's transaction, `open` as   *)
(*                 long as it is not ended                                  *)
(*   pending       offsets that transactions have sent: of a partition,     *)
(*                 with the number of the transaction and its producer      *)
(*                 (Own, OfOthers); overtaken: an offset of the partition   *)
(*                 was committed after it                                   *)
(*   markers       of transactions that have ended, which the coordinator   *)
(*                 has yet to do: pending offsets are committed, or dropped *)
(*   deleted       the partitions whose topic was deleted and created       *)
(*                 with its name                                            *)
(*   renewed       those whose topic was, and the coordinator has not heard *)
(*                 of it yet                                                *)
(*                                                                          *)
(* An application that has sent offsets in a transaction commits none       *)
(* beside it, and gives nothing up before it has ended.                     *)
(*                                                                          *)
(* Without an offset a consumer begins at the first record                  *)
(* (auto.offset.reset).                                                     *)
(***************************************************************************)
EXTENDS GroupRules

InitialOffsets ==
  [committed |-> {}, group |-> "Empty", since |-> 0, now |-> 0, taken |-> {}, positions |-> {},
   update |-> "None", asked |-> {}, epoch |-> 1, requested |-> {}, revoking |-> {},
   transaction |-> 0, open |-> FALSE, pending |-> {}, markers |-> {}, deleted |-> {},
   renewed |-> {}]

Having(row) == {[row |-> row, sent |-> {}, ignored |-> ""]}

(* The entry of a partition, as a set of one, or the empty set.             *)
Of(entries, p) == {each \in entries : each.partition = p}
Except(entries, p) == {each \in entries : each.partition # p}

Committing(row, some) ==
  [row EXCEPT !.committed =
     {each \in @ : each.partition \notin {position.partition : position \in some}}
       \cup {[partition |-> position.partition, offset |-> Committable(position),
              time |-> row.now, anew |-> position.partition \in row.renewed] :
            position \in some}]

(* A commit that follows everything that transactions have sent.            *)
Stored(row, p, offset) ==
  [row EXCEPT
     !.committed = Except(@, p) \cup {[partition |-> p, offset |-> offset, time |-> row.now,
                                      anew |-> p \in row.renewed]},
     !.pending = {[each EXCEPT !.overtaken = @ \/ each.partition = p] : each \in @}]

(* The consumer's own transaction.                                          *)
OfProducer(some, producer) == {each \in some : each.producer = producer}
MayBegin(row) == row.open \/ IsMarkerAnswered(row)
IsTransactional(row) ==
  OfProducer(row.pending, Own) # {} \/ \E each \in row.requested : each.sends

Sent(row, p, offset, producer, transaction) ==
  [row EXCEPT !.pending = Except(@, p)
     \cup {[partition |-> p, offset |-> offset, transaction |-> transaction,
            producer |-> producer, overtaken |-> FALSE]}]

SentByOwn(row, p, offset) ==
  LET transaction == IF row.open THEN row.transaction ELSE row.transaction + 1
  IN [Sent(row, p, offset, Own, transaction) EXCEPT !.transaction = transaction, !.open = TRUE]

(* A record that removes the offset of a partition.                         *)
WithTombstone(row, p) ==
  [row EXCEPT !.committed = Except(@, p), !.pending = PendingAfterTombstone(row, p)]

-----------------------------------------------------------------------------
(* The consumer: partitions.                                                *)

(* ACTION HandleTakePartition                                               *)
(* WHO    the consumer                                                      *)
(* WHAT   A partition is assigned to it.                                    *)
Step_HandleTakePartition(n, row, input) ==
  IF row.group # "Stable" \/ input.partition \in row.taken THEN {}
  ELSE Having([row EXCEPT !.taken = @ \cup {input.partition}])

(* ACTION HandleStartRevocation                                             *)
(* WHO    the consumer                                                      *)
(* WHAT   It commits what the application received of a partition, and the  *)
(*        callbacks begin. A requested commit goes first (G24).             *)
Step_HandleStartRevocation(n, row, input) ==
  IF \/ input.partition \notin row.taken \ row.revoking
     \/ Of(row.requested \cup row.pending, input.partition) # {}
  THEN {}
  ELSE Having([Committing(row, Of(row.positions, input.partition)) EXCEPT
                 !.revoking = @ \cup {input.partition}])

(* ACTION HandleFinishRevocation                                            *)
(* WHO    the consumer                                                      *)
(* WHAT   The callbacks have ended, and the partition is given up. The      *)
(*        member epoch grows (G24).                                         *)
Step_HandleFinishRevocation(n, row, input) ==
  IF input.partition \notin row.revoking THEN {}
  ELSE Having([row EXCEPT !.revoking = @ \ {input.partition}, !.taken = @ \ {input.partition},
                          !.asked = @ \ {input.partition}, !.epoch = @ + 1,
                          !.positions = Except(@, input.partition)])

-----------------------------------------------------------------------------
(* G28: positions.                                                          *)

(* What is being given up needs none.                                       *)
WithoutPosition(row) == row.taken \ (row.revoking \cup {each.partition : each \in row.positions})
Beginning(p, offset) == [partition |-> p, fetched |-> offset, handedOut |-> offset]

(* ACTION HandleAskOffsets                                                  *)
(* WHO    the consumer                                                      *)
(* WHAT   It requests the committed offsets of partitions without a position *)
(*        (G28).                                                            *)
Step_HandleAskOffsets(n, row, input) ==
  IF row.update # "None" \/ WithoutPosition(row) = {} THEN {}
  ELSE Having([row EXCEPT !.update = "Asked", !.asked = WithoutPosition(row)])

(* ACTION HandleHearOffsets                                                 *)
(* WHO    the consumer                                                      *)
(* WHAT   It adopts the committed offsets when no open transaction may      *)
(*        change them (G28, G33).                                           *)
Step_HandleHearOffsets(n, row, input) ==
  IF row.update # "Asked" \/ \E p \in row.asked : ~IsStableOffset(row, p) THEN {}
  ELSE LET found == {each \in row.committed :
                       /\ each.partition \in row.asked \ row.revoking
                       /\ IsOfTopic(row, each)} IN
       Having([row EXCEPT !.update = "Heard",
                          !.positions = @ \cup {Beginning(each.partition, each.offset) :
                                                  each \in found}])

(* ACTION HandleResetRest                                                   *)
(* WHO    the consumer                                                      *)
(* WHAT   It resets the partitions that have no committed offset (G28).     *)
Step_HandleResetRest(n, row, input) ==
  IF row.update # "Heard" THEN {}
  ELSE Having([row EXCEPT !.update = "None", !.asked = {},
                          !.positions = @ \cup {Beginning(p, 0) :
                                                  p \in ToReset(row, WithoutPosition(row))}])

-----------------------------------------------------------------------------
(* Records.                                                                 *)

(* ACTION HandleFetchRecord                                                 *)
(* WHO    the consumer                                                      *)
(* WHAT   It fetches the next record of a partition.                        *)
Step_HandleFetchRecord(n, row, input) ==
  IF Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE IN
       Having([row EXCEPT !.positions = Except(@, input.partition)
                 \cup {[position EXCEPT !.fetched = @ + 1]}])

(* ACTION HandleHandOut                                                     *)
(* WHO    the consumer                                                      *)
(* WHAT   It passes fetched records to the application (G24).               *)
Step_HandleHandOut(n, row, input) ==
  IF \/ \A each \in Of(row.positions, input.partition) : each.fetched = each.handedOut
     \/ ~MayHandOut(row, input.partition)
  THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE IN
       Having([row EXCEPT !.positions = Except(@, input.partition)
                 \cup {[position EXCEPT !.handedOut = position.fetched]}])

(* ACTION HandleAutoCommit                                                  *)
(* WHO    the consumer                                                      *)
(* WHAT   It commits what the application received, except of partitions    *)
(*        under revocation (G29).                                           *)
Step_HandleAutoCommit(n, row, input) ==
  LET some == {each \in row.positions : each.partition \notin row.revoking}
  IN IF some = {} \/ IsTransactional(row) \/ Committing(row, some) = row THEN {}
     ELSE Having(Committing(row, some))

-----------------------------------------------------------------------------
(* Commits that the application requests, and fences (G25, G29, G30).       *)

Requesting(row, p, sends) ==
  LET position == CHOOSE each \in Of(row.positions, p) : TRUE
  IN [row EXCEPT !.requested = {[partition |-> p, offset |-> position.handedOut,
                                 epoch |-> row.epoch, sends |-> sends]}]

(* ACTION HandleAskCommit                                                   *)
(* WHO    the consumer                                                      *)
(* WHAT   The application requests a commit; the request carries the present *)
(*        epoch (G29).                                                      *)
Step_HandleAskCommit(n, row, input) ==
  IF Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking
     \/ row.requested # {} \/ IsTransactional(row)
  THEN {} ELSE Having(Requesting(row, input.partition, FALSE))

(* ACTION HandleAskTxnOffsets                                               *)
(* WHO    the consumer                                                      *)
(* WHAT   The application sends an offset in its transaction, with what it  *)
(*        knows about its membership (G30, G32).                            *)
Step_HandleAskTxnOffsets(n, row, input) ==
  IF Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking
     \/ row.requested # {} \/ ~MayBegin(row)
  THEN {} ELSE Having(Requesting(row, input.partition, TRUE))

(* ACTION HandleSendCommit                                                  *)
(* WHO    the consumer and the coordinator                                  *)
(* WHAT   A requested commit arrives. The coordinator accepts the epoch that *)
(*        it knows (G29, G30).                                              *)
Step_HandleSendCommit(n, row, input) ==
  IF row.requested = {} THEN {}
  ELSE LET request == CHOOSE each \in row.requested : TRUE
           done == [row EXCEPT !.requested = {}]
       IN CASE request.sends /\ AcceptsTxnOffsets(row, request) ->
                 Having(SentByOwn(done, request.partition, request.offset))
            [] ~request.sends /\ StampedEpoch(row, request) = row.epoch ->
                 Having(Stored(done, request.partition, request.offset))
            [] OTHER -> Having(done)

(* ACTION HandleFenceConsumer                                               *)
(* WHO    the consumer                                                      *)
(* WHAT   It loses everything, and is a member again (G25).                 *)
Step_HandleFenceConsumer(n, row, input) ==
  IF row.taken = {} THEN {}
  ELSE Having([row EXCEPT !.taken = {}, !.positions = {}, !.update = "None", !.asked = {},
                          !.revoking = {}, !.epoch = @ + 1])

(* The largest offset that was committed, or sent.                          *)
Farthest(row, p) ==
  LET known == {0} \cup {each.offset : each \in Of(row.committed \cup row.pending, p)}
  IN CHOOSE most \in known : \A other \in known : other <= most
Renewed(row) == {[partition |-> p] : p \in row.renewed}

(* ACTION HandleOthersCommit                                                *)
(* WHO    another member                                                    *)
(* WHAT   It continues from the committed offset of a partition that it     *)
(*        owns.                                                             *)
Step_HandleOthersCommit(n, row, input) ==
  IF Of(row.committed, input.partition) = {} \/ input.partition \in row.taken
     \/ row.group # "Stable" \/ Of(row.pending \cup Renewed(row), input.partition) # {}
  THEN {}
  ELSE Having(Stored(row, input.partition, Farthest(row, input.partition) + 1))

(* ACTION HandleAlterOffset                                                 *)
(* WHO    an administrator                                                  *)
(* WHAT   It commits an offset while the group is empty, whatever           *)
(*        transactions are open.                                            *)
Step_HandleAlterOffset(n, row, input) ==
  IF row.group # "Empty" \/ Of(Renewed(row), input.partition) # {} THEN {}
  ELSE Having(Stored(row, input.partition, Farthest(row, input.partition) + 1))

-----------------------------------------------------------------------------
(* G32: offsets in a transaction.                                           *)

(* ACTION HandleSendTxnOffsets                                              *)
(* WHO    the consumer                                                      *)
(* WHAT   It sends an offset in its transaction, and the coordinator accepts *)
(*        it (G30).                                                         *)
Step_HandleSendTxnOffsets(n, row, input) ==
  IF \/ Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking
     \/ row.requested # {} \/ ~MayBegin(row)
  THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE
       IN Having(SentByOwn(row, input.partition, position.handedOut))

(* ACTION HandleOthersSend                                                  *)
(* WHO    another member                                                    *)
(* WHAT   It sends an offset of its partition in a transaction of its own   *)
(*        producer. Its next transaction begins after the marker.           *)
Step_HandleOthersSend(n, row, input) ==
  IF \/ input.partition \in row.taken \/ row.group # "Stable"
     \/ Of(row.pending \cup Renewed(row), input.partition) # {}
     \/ OfProducer(row.markers, OfOthers) # {}
  THEN {}
  ELSE Having(Sent(row, input.partition, Farthest(row, input.partition) + 1, OfOthers, 1))

(* What is sent is answered before the transaction ends.                    *)
IsOpen(row, producer) ==
  IF producer = Own THEN row.open /\ ~\E each \in row.requested : each.sends
  ELSE OfProducer(row.pending, producer) # {} /\ OfProducer(row.markers, producer) = {}

(* ACTION HandleEndTransaction                                              *)
(* WHO    a transaction coordinator                                         *)
(* WHAT   A transaction is committed or aborted, and its marker is written  *)
(*        (G32).                                                            *)
Step_HandleEndTransaction(n, row, input) ==
  IF ~IsOpen(row, input.producer) THEN {}
  ELSE Having([row EXCEPT
         !.open = @ /\ input.producer # Own,
         !.markers = @ \cup {[transaction |-> IF input.producer = Own THEN row.transaction ELSE 1,
                             commits |-> input.commits, producer |-> input.producer]}])

(* ACTION HandleMaterialiseMarker                                           *)
(* WHO    the coordinator                                                   *)
(* WHAT   It applies a marker: all pending offsets of that producer are     *)
(*        committed or dropped (G32).                                       *)
Step_HandleMaterialiseMarker(n, row, input) ==
  LET some == OfMarker(row, input.marker)
      moved == {[partition |-> each.partition, offset |-> each.offset, time |-> row.now,
                 anew |-> FALSE] : each \in {each \in some : IsNewest(each)}}
  IN IF input.marker \notin row.markers THEN {}
     ELSE Having([row EXCEPT
            !.markers = @ \ {input.marker}, !.pending = @ \ some,
            !.committed = IF ~input.marker.commits THEN @
                          ELSE {each \in @ : Of(moved, each.partition) = {}} \cup moved])

-----------------------------------------------------------------------------
(* G35: the group and time.                                                 *)

(* ACTION HandleGroupChange                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   The group becomes stable or empty. It is empty only when the      *)
(*        consumer has gone (G35).                                          *)
Step_HandleGroupChange(n, row, input) ==
  IF input.group = row.group \/ (input.group = "Empty" /\ row.taken # {})
     \/ (input.group = "Stable" /\ row.group \in {"Empty", "Dead"})
     \/ (input.group = "Empty" /\ row.group = "Dead")
  THEN {}
  ELSE Having([row EXCEPT !.group = input.group, !.since = row.now])

(* ACTION HandleTimePasses                                                  *)
(* WHO    time                                                              *)
(* WHAT   The clock advances by one.                                        *)
Step_HandleTimePasses(n, row, input) == Having([row EXCEPT !.now = @ + 1])

(* ACTION HandleExpireOffsets                                               *)
(* WHO    the coordinator                                                   *)
(* WHAT   It removes offsets whose retention is over, with the pending ones *)
(*        that a tombstone removes (G35).                                   *)
Step_HandleExpireOffsets(n, row, input) ==
  LET kept == {each \in row.committed :
                 \/ ~MayExpire(row) \/ row.now - ExpiryBase(row, each) < Retention
                 \/ IsSpared(row, each.partition)}
      expired == {each.partition : each \in row.committed \ kept}
  IN IF expired = {} THEN {}
     ELSE Having([row EXCEPT
            !.committed = kept,
            !.pending = {each \in @ : \A p \in expired :
                           each \in PendingAfterTombstone(row, p)}])

(* ACTION HandleDeleteGroup                                                 *)
(* WHO    an administrator                                                  *)
(* WHAT   It deletes an empty group, with all its offsets and pending ones  *)
(*        (G37).                                                            *)
Step_HandleDeleteGroup(n, row, input) ==
  IF row.group = "Dead" \/ ~MayDeleteGroup(row) THEN {}
  ELSE Having([row EXCEPT !.group = "Dead", !.since = row.now, !.committed = {}, !.pending = {}])

(* Topics that are deleted and created again with the same name (G36). The  *)
(* owner of the partition learns of it at once and then has no position. If *)
(* nobody coordinates the group at that moment (~coordinated), the next     *)
(* coordinator handles the deletion after its load.                         *)
WithoutPositions(row, p) ==
  [row EXCEPT !.positions = Except(@, p), !.requested = Except(@, p)]

(* ACTION HandleRenewTopic                                                  *)
(* WHO    an administrator                                                  *)
(* WHAT   A topic is deleted and created again with its name, before the    *)
(*        coordinator learns of it. Members commit to the new one meanwhile *)
(*        (G36).                                                            *)
Step_HandleRenewTopic(n, row, input) ==
  IF input.partition \in row.deleted \cup row.renewed THEN {}
  ELSE Having([WithoutPositions(row, input.partition) EXCEPT
                 !.renewed = @ \cup {input.partition}])

(* ACTION HandleForgetTopic                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   It removes the offsets of a deleted topic. If no coordinator is   *)
(*        active (~coordinated), the next one does it after its load (G36). *)
Step_HandleForgetTopic(n, row, input) ==
  LET p == input.partition
      gone == [(IF p \in row.renewed THEN row ELSE WithoutPositions(row, p)) EXCEPT
                 !.deleted = @ \cup {p}, !.renewed = @ \ {p},
                 !.committed = {[each EXCEPT !.anew = @ /\ each.partition # p] : each \in @}]
      stays == {each \in Of(row.committed, p) : ~GoesWithTopic(each)}
  IN CASE p \in row.deleted -> {}
       [] ~input.coordinated /\ ~ForgetsWhenLoaded -> Having(gone)
       [] OTHER -> Having([gone EXCEPT
                     !.pending = PendingAfterTombstone(row, p),
                     !.committed = IF stays = {} THEN Except(@, p) ELSE @])

OfPartition(type) == {[type |-> type, partition |-> p] : p \in Partitions}
Inputs_TakePartition(n, row) == OfPartition("TakePartition")
Inputs_StartRevocation(n, row) == OfPartition("StartRevocation")
Inputs_FinishRevocation(n, row) == OfPartition("FinishRevocation")
Inputs_FetchRecord(n, row) == OfPartition("FetchRecord")
Inputs_HandOut(n, row) == OfPartition("HandOut")
Inputs_AskCommit(n, row) == OfPartition("AskCommit")
Inputs_OthersCommit(n, row) == OfPartition("OthersCommit")
Inputs_SendTxnOffsets(n, row) == OfPartition("SendTxnOffsets")
Inputs_AskTxnOffsets(n, row) == OfPartition("AskTxnOffsets")
Inputs_AlterOffset(n, row) == OfPartition("AlterOffset")
Inputs_OthersSend(n, row) == OfPartition("OthersSend")
Inputs_RenewTopic(n, row) ==
  {[type |-> "RenewTopic", partition |-> p] : p \in Growing}
Inputs_EndTransaction(n, row) ==
  {[type |-> "EndTransaction", commits |-> c, producer |-> k] :
     c \in BOOLEAN, k \in {Own, OfOthers}}
Inputs_MaterialiseMarker(n, row) ==
  {[type |-> "MaterialiseMarker", marker |-> m] : m \in row.markers}
Inputs_ForgetTopic(n, row) ==
  {[type |-> "ForgetTopic", partition |-> p, coordinated |-> c] : p \in Growing, c \in BOOLEAN}
Inputs_GroupChange(n, row) ==
  {[type |-> "GroupChange", group |-> g] : g \in {"Empty", "Rebalancing", "Stable"}}
=============================================================================
