------------------------- MODULE ShareGroupProperties -------------------------
(***************************************************************************)
(* What a share group's state promises, as named properties.  Law of this   *)
(* file: no decision of ShareGroupRules is used.                            *)
(***************************************************************************)
EXTENDS ShareGroup

(* When the group is initialized, the stored state is the one that it has   *)
(* requested last. Misses: a group that is never initialized.               *)
InitializedIsStored ==
  group.state = "Initialized" => store.known /\ store.intent = group.intent

(* A group that is deleted has no stored state. Misses: a write that is     *)
(* still on its way.                                                        *)
DeletedIsGone == group.state = "None" => ~store.known

(* A write is accepted in the state that it was made in, and in no later    *)
(* one. Misses: a write that is refused although it should be accepted.     *)
WriteIsOfItsState == store.known => store.written \in {0, store.intent}

(* The stored start offset stays after what was acknowledged, until offsets *)
(* are altered. Misses: acknowledgements of single records.                 *)
AckedStays ==
  store.known /\ leader.toldIntent = store.intent => store.start >= leader.told

(* A group that knows a topic receives every record of a partition that is  *)
(* added to it. Misses: the first partitions of a topic.                    *)
NothingSkipped ==
  Added /\ ~group.altered /\ leader.phase = "Active" => leader.start <= leader.reached
=============================================================================
