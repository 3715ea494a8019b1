---------------------------- MODULE GroupOffsets ----------------------------
(***************************************************************************)
(* Offsets (G24, G25, G28-G30, G35, G36): those that a group has committed, *)
(* as its coordinator keeps them, and one consumer, which takes partitions  *)
(* and gives them up, fetches, hands records out, and commits by itself.    *)
(* The row:                                                                 *)
(*                                                                          *)
(*   committed     offsets: of a partition, with the time of the commit     *)
(*   group         "Empty", "Rebalancing", "Stable", since when: `since`    *)
(*   now           the time                                                 *)
(*   taken         the partitions that the consumer has                     *)
(*   positions     of those that have one: what was fetched, up to where,   *)
(*                 and what was handed out of it                            *)
(*   update        of positions: "None", "Asked" for what was committed,    *)
(*                 "Heard", after which the others are reset                *)
(*   asked         the partitions that it was asked for                     *)
(*   epoch         of the consumer as a member                              *)
(*   requested     a commit that the application has asked for, with the    *)
(*                 epoch of that moment, in a set of one; or nothing        *)
(*   revoking      the partitions that are being given up: they have been   *)
(*                 committed, and callbacks run                             *)
(*   transaction   the number of the application's transaction, `open` as   *)
(*                 long as it is not ended                                  *)
(*   pending       offsets that a transaction has sent: of a partition,     *)
(*                 with its number                                          *)
(*   markers       of transactions that have ended, which the coordinator   *)
(*                 has yet to do: pending offsets are committed, or dropped *)
(*   deleted       the partitions whose topic was deleted, and made anew    *)
(*                 with its name                                            *)
(*                                                                          *)
(* An application that has sent offsets in a transaction commits none       *)
(* beside it, and gives nothing up before it has ended.                     *)
(*                                                                          *)
(* Who has no offset begins with the first record (auto.offset.reset).      *)
(***************************************************************************)
EXTENDS GroupRules

InitialOffsets ==
  [committed |-> {}, group |-> "Empty", since |-> 0, now |-> 0, taken |-> {}, positions |-> {},
   update |-> "None", asked |-> {}, epoch |-> 1, requested |-> {}, revoking |-> {},
   transaction |-> 0, open |-> FALSE, pending |-> {}, markers |-> {}, deleted |-> {}]

Having(row) == {[row |-> row, sent |-> {}, ignored |-> ""]}

(* Of one partition: the entry, in a set of one, or none.                   *)
Of(entries, p) == {each \in entries : each.partition = p}
Except(entries, p) == {each \in entries : each.partition # p}

Committing(row, some) ==
  [row EXCEPT !.committed =
     {each \in @ : each.partition \notin {position.partition : position \in some}}
       \cup {[partition |-> position.partition, offset |-> Committable(position),
              time |-> row.now] : position \in some}]

-----------------------------------------------------------------------------
(* The consumer: partitions.                                                *)

Step_HandleTakePartition(n, row, input) ==
  IF row.group # "Stable" \/ input.partition \in row.taken THEN {}
  ELSE Having([row EXCEPT !.taken = @ \cup {input.partition}])

(* G24.  What was handed out is committed, then callbacks run; a commit     *)
(* that is asked for comes first.                                           *)
Step_HandleStartRevocation(n, row, input) ==
  IF \/ input.partition \notin row.taken \ row.revoking
     \/ Of(row.requested \cup row.pending, input.partition) # {}
  THEN {}
  ELSE Having([Committing(row, Of(row.positions, input.partition)) EXCEPT
                 !.revoking = @ \cup {input.partition}])

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

Step_HandleAskOffsets(n, row, input) ==
  IF row.update # "None" \/ WithoutPosition(row) = {} THEN {}
  ELSE Having([row EXCEPT !.update = "Asked", !.asked = WithoutPosition(row)])

Step_HandleHearOffsets(n, row, input) ==
  IF row.update # "Asked" \/ \E p \in row.asked : ~IsStableOffset(row, p) THEN {}
  ELSE LET found == {each \in row.committed : each.partition \in row.asked \ row.revoking} IN
       Having([row EXCEPT !.update = "Heard",
                          !.positions = @ \cup {Beginning(each.partition, each.offset) :
                                                  each \in found}])

Step_HandleResetRest(n, row, input) ==
  IF row.update # "Heard" THEN {}
  ELSE Having([row EXCEPT !.update = "None", !.asked = {},
                          !.positions = @ \cup {Beginning(p, 0) :
                                                  p \in ToReset(row, WithoutPosition(row))}])

-----------------------------------------------------------------------------
(* Records.                                                                 *)

Step_HandleFetchRecord(n, row, input) ==
  IF Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE IN
       Having([row EXCEPT !.positions = Except(@, input.partition)
                 \cup {[position EXCEPT !.fetched = @ + 1]}])

Step_HandleHandOut(n, row, input) ==
  IF \/ \A each \in Of(row.positions, input.partition) : each.fetched = each.handedOut
     \/ ~MayHandOut(row, input.partition)
  THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE IN
       Having([row EXCEPT !.positions = Except(@, input.partition)
                 \cup {[position EXCEPT !.handedOut = position.fetched]}])

(* G29.  Of what is being given up the commit is done.                      *)
Step_HandleAutoCommit(n, row, input) ==
  LET some == {each \in row.positions : each.partition \notin row.revoking}
  IN IF some = {} \/ row.pending # {} \/ Committing(row, some) = row THEN {}
     ELSE Having(Committing(row, some))

-----------------------------------------------------------------------------
(* G25, G29, G30: commits that the application asks for, and fences.        *)

Step_HandleAskCommit(n, row, input) ==
  IF Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking
     \/ row.requested # {} \/ row.pending # {}
  THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE IN
       Having([row EXCEPT !.requested = {[partition |-> input.partition,
                                          offset |-> position.handedOut, epoch |-> row.epoch]}])

(* The coordinator accepts what has the epoch that it knows.                *)
Step_HandleSendCommit(n, row, input) ==
  IF row.requested = {} THEN {}
  ELSE LET request == CHOOSE each \in row.requested : TRUE
           done == [row EXCEPT !.requested = {}]
       IN IF StampedEpoch(row, request) # row.epoch THEN Having(done)
          ELSE Having([done EXCEPT
                 !.committed = Except(@, request.partition)
                   \cup {[partition |-> request.partition, offset |-> request.offset,
                          time |-> row.now]}])

(* G25.  It loses all, and is a member again.                               *)
Step_HandleFenceConsumer(n, row, input) ==
  IF row.taken = {} THEN {}
  ELSE Having([row EXCEPT !.taken = {}, !.positions = {}, !.update = "None", !.asked = {},
                          !.revoking = {}, !.epoch = @ + 1])

(* Another member goes on from there.                                       *)
Step_HandleOthersCommit(n, row, input) ==
  IF Of(row.committed, input.partition) = {} \/ input.partition \in row.taken
     \/ row.group # "Stable" \/ Of(row.pending, input.partition) # {}
  THEN {}
  ELSE LET each == CHOOSE each \in Of(row.committed, input.partition) : TRUE IN
       Having([row EXCEPT !.committed = Except(@, input.partition)
                 \cup {[each EXCEPT !.offset = @ + 1, !.time = row.now]}])

-----------------------------------------------------------------------------
(* G32: offsets in a transaction.                                           *)

Step_HandleSendTxnOffsets(n, row, input) ==
  IF \/ Of(row.positions, input.partition) = {} \/ input.partition \in row.revoking
     \/ row.requested # {} \/ (~row.open /\ ~IsMarkerAnswered(row))
  THEN {}
  ELSE LET position == CHOOSE each \in Of(row.positions, input.partition) : TRUE
           transaction == IF row.open THEN row.transaction ELSE row.transaction + 1
       IN Having([row EXCEPT
            !.transaction = transaction, !.open = TRUE,
            !.pending = Except(@, input.partition)
              \cup {[partition |-> input.partition, offset |-> position.handedOut,
                     transaction |-> transaction]}])

Step_HandleEndTransaction(n, row, input) ==
  IF ~row.open THEN {}
  ELSE Having([row EXCEPT
         !.open = FALSE,
         !.markers = @ \cup {[transaction |-> row.transaction, commits |-> input.commits]}])

(* It does so with all that the producer has sent.                          *)
Step_HandleMaterialiseMarker(n, row, input) ==
  LET of == {each.partition : each \in row.pending}
      moved == {[partition |-> each.partition, offset |-> each.offset, time |-> row.now] :
                  each \in row.pending}
  IN IF input.marker \notin row.markers THEN {}
     ELSE Having([row EXCEPT
            !.markers = @ \ {input.marker}, !.pending = {},
            !.committed = IF ~input.marker.commits THEN @
                          ELSE {each \in @ : each.partition \notin of} \cup moved])

-----------------------------------------------------------------------------
(* G35: the group and time.                                                 *)

(* It is empty only when the consumer has gone.                             *)
Step_HandleGroupChange(n, row, input) ==
  IF input.group = row.group \/ (input.group = "Empty" /\ row.taken # {})
     \/ (input.group = "Stable" /\ row.group = "Empty")
  THEN {}
  ELSE Having([row EXCEPT !.group = input.group, !.since = row.now])

Step_HandleTimePasses(n, row, input) == Having([row EXCEPT !.now = @ + 1])

Step_HandleExpireOffsets(n, row, input) ==
  LET kept == {each \in row.committed :
                 ~MayExpire(row) \/ row.now - ExpiryBase(row, each) < Retention}
  IN IF kept = row.committed THEN {} ELSE Having([row EXCEPT !.committed = kept])

(* G36: topics that are deleted, and made anew with the same name.  Who has *)
(* the partition hears of it at once, and has no position then.  If nobody  *)
(* coordinates the group at that moment (~coordinated), this is seen with   *)
(* what the next coordinator does once it has loaded.                       *)
Step_HandleForgetTopic(n, row, input) ==
  LET p == input.partition
      gone == [row EXCEPT !.deleted = @ \cup {p}, !.positions = Except(@, p),
                          !.requested = Except(@, p)]
  IN CASE p \in row.deleted -> {}
       [] ~input.coordinated /\ ~ForgetsWhenLoaded -> Having(gone)
       [] OTHER -> Having([gone EXCEPT !.pending = PendingAfterDeletion(row, p),
                                       !.committed = Except(@, p)])

OfPartition(type) == {[type |-> type, partition |-> p] : p \in Partitions}
Inputs_TakePartition(n, row) == OfPartition("TakePartition")
Inputs_StartRevocation(n, row) == OfPartition("StartRevocation")
Inputs_FinishRevocation(n, row) == OfPartition("FinishRevocation")
Inputs_FetchRecord(n, row) == OfPartition("FetchRecord")
Inputs_HandOut(n, row) == OfPartition("HandOut")
Inputs_AskCommit(n, row) == OfPartition("AskCommit")
Inputs_OthersCommit(n, row) == OfPartition("OthersCommit")
Inputs_SendTxnOffsets(n, row) == OfPartition("SendTxnOffsets")
Inputs_EndTransaction(n, row) == {[type |-> "EndTransaction", commits |-> c] : c \in BOOLEAN}
Inputs_MaterialiseMarker(n, row) ==
  {[type |-> "MaterialiseMarker", marker |-> m] : m \in row.markers}
Inputs_ForgetTopic(n, row) ==
  {[type |-> "ForgetTopic", partition |-> p, coordinated |-> c] : p \in Growing, c \in BOOLEAN}
Inputs_GroupChange(n, row) ==
  {[type |-> "GroupChange", group |-> g] : g \in {"Empty", "Rebalancing", "Stable"}}
=============================================================================
