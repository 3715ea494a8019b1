--------------------------- MODULE MCGroupOffsets ----------------------------
(***************************************************************************)
(* Offsets of a group, within bounds.                                       *)
(***************************************************************************)
EXTENDS GroupOffsetsProperties, TLC

CONSTANTS
  MaxRecords,   \* that are fetched
  MaxTakes,     \* partitions that are taken
  MaxChanges,   \* of the group
  MaxCommits,   \* that are requested
  MaxSent,      \* in transactions
  MaxFences,    \* of the consumer, and commits of others
  MaxTime,
  Asides,       \* what happens beside the consumer: types of inputs
  MaxAsides

VARIABLE spent

mcVars == <<offsets, spent>>

Symmetry == Permutations(Partitions)

MCInit ==
  /\ offsets = InitialOffsets
  /\ spent = [records |-> 0, takes |-> 0, changes |-> 0, commits |-> 0, sent |-> 0, fences |-> 0,
             asides |-> 0]

Had(outcomes) == \E o \in outcomes : offsets' = o.row
Free(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  spent[what] < most /\ Action /\ spent' = [spent EXCEPT ![what] = @ + 1]

Aside(type, outcomes) == type \in Asides /\ Paid("asides", MaxAsides, Had(outcomes))

OfPartitions(p) ==
  LET input == [partition |-> p] IN
  \/ Paid("takes", MaxTakes, Had(Step_HandleTakePartition(0, offsets, input)))
  \/ Free(Had(Step_HandleStartRevocation(0, offsets, input)))
  \/ Free(Had(Step_HandleFinishRevocation(0, offsets, input)))
  \/ Paid("records", MaxRecords, Had(Step_HandleFetchRecord(0, offsets, input)))
  \/ Free(Had(Step_HandleHandOut(0, offsets, input)))
  \/ Paid("commits", MaxCommits, Had(Step_HandleAskCommit(0, offsets, input)))
  \/ Paid("sent", MaxSent, Had(Step_HandleSendTxnOffsets(0, offsets, input)))
  \/ Paid("fences", MaxFences, Had(Step_HandleOthersCommit(0, offsets, input)))
  \/ Aside("AskTxnOffsets", Step_HandleAskTxnOffsets(0, offsets, input))
  \/ Aside("OthersSend", Step_HandleOthersSend(0, offsets, input))
  \/ Aside("AlterOffset", Step_HandleAlterOffset(0, offsets, input))

MCNext ==
  \/ \E p \in Partitions : OfPartitions(p)
  \/ Free(Had(Step_HandleAskOffsets(0, offsets, 0)))
  \/ Free(Had(Step_HandleHearOffsets(0, offsets, 0)))
  \/ Free(Had(Step_HandleResetRest(0, offsets, 0)))
  \/ Free(Had(Step_HandleAutoCommit(0, offsets, 0)))
  \/ Free(Had(Step_HandleSendCommit(0, offsets, 0)))
  \/ \E input \in Inputs_EndTransaction(0, offsets) :
       Free(Had(Step_HandleEndTransaction(0, offsets, input)))
  \/ \E input \in Inputs_MaterialiseMarker(0, offsets) :
       Free(Had(Step_HandleMaterialiseMarker(0, offsets, input)))
  \/ Paid("fences", MaxFences, Had(Step_HandleFenceConsumer(0, offsets, 0)))
  \/ \E input \in Inputs_GroupChange(0, offsets) :
       Paid("changes", MaxChanges, Had(Step_HandleGroupChange(0, offsets, input)))
  \/ offsets.now < MaxTime /\ Free(Had(Step_HandleTimePasses(0, offsets, 0)))
  \/ Free(Had(Step_HandleExpireOffsets(0, offsets, 0)))
  \/ \E input \in Inputs_ForgetTopic(0, offsets) :
       Free(Had(Step_HandleForgetTopic(0, offsets, input)))
  \/ \E input \in Inputs_RenewTopic(0, offsets) :
       Aside("RenewTopic", Step_HandleRenewTopic(0, offsets, input))
  \/ Aside("DeleteGroup", Step_HandleDeleteGroup(0, offsets, 0))

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Situations that must be reached: an offset expires; a member that takes  *)
(* the partition again finds one.                                           *)
NoExpiryProbe ==
  [][offsets.committed # {} => offsets'.committed # {}]_mcVars
NoFoundProbe == \A each \in offsets.positions : each.handedOut = 0 \/ offsets.update # "Heard"
=============================================================================
