------------------------- MODULE ShareGroupProperties -------------------------
(***************************************************************************)
(* What a share group's state promises, as named properties.  Law of this   *)
(* file: no decision of ShareGroupRules is used.                            *)
(***************************************************************************)
EXTENDS ShareGroup

(* When the group is initialized, the stored state is the one that it has   *)
(* requested last.                                                          *)
InitializedIsStored ==
  group.state = "Initialized" => store.known /\ store.intent = group.intent

(* A group that is deleted has no stored state.                             *)
DeletedIsGone == group.state = "None" => ~store.known

(* A write is accepted in the state that it was made in, and in no later    *)
(* one.                                                                     *)
WriteIsOfItsState == store.known => store.written \in {0, store.intent}

(* The stored start offset stays after what was acknowledged, until offsets *)
(* are altered.                                                             *)
AckedStays ==
  store.known /\ leader.toldIntent = store.intent => store.start >= leader.told

(* A group that knows a topic receives every record of a partition that is  *)
(* added to it.                                                             *)
NothingSkipped ==
  Added /\ ~group.altered /\ leader.phase = "Active" => leader.start <= leader.reached
=============================================================================
