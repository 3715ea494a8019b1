----------------------- MODULE GroupOffsetsProperties -----------------------
(***************************************************************************)
(* What is promised of offsets, as named properties.  Law of this file: no  *)
(* decision of GroupRules is used.                                          *)
(***************************************************************************)
EXTENDS GroupOffsets

VARIABLE offsets   \* the row

PartitionsOf(entries) == {each.partition : each \in entries}

(* Nothing is committed that was not handed out.                            *)
CommitsHandedOut ==
  \A position \in offsets.positions : \A each \in offsets.committed :
    each.partition = position.partition => each.offset <= position.handedOut

(* What is given up was committed as far as it was handed out.              *)
GivenUpIsCommittedStep ==
  \A position \in offsets.positions :
    position.partition \in offsets.revoking \ offsets'.taken =>
      \E each \in offsets'.committed :
        each.partition = position.partition /\ each.offset = position.handedOut
GivenUpIsCommitted == [][GivenUpIsCommittedStep]_offsets

(* Who takes a partition begins where it was committed, if it was.          *)
StartAtCommittedStep ==
  \A position \in offsets'.positions :
    position.partition \notin PartitionsOf(offsets.positions) =>
      \A each \in offsets.committed :
        each.partition = position.partition => each.offset = position.handedOut
StartAtCommitted == [][StartAtCommittedStep]_offsets

(* What is committed goes back only for who has the partition.              *)
HandoverNoRegressStep ==
  \A each \in offsets.committed, later \in offsets'.committed :
    each.partition = later.partition /\ later.offset < each.offset =>
      each.partition \in offsets.taken
HandoverNoRegress == [][HandoverNoRegressStep]_offsets

(* An offset is forgotten only when the group has been empty as long as it  *)
(* is to be kept, and nobody has committed since, or with its topic.        *)
DeletedNow == offsets'.deleted \ offsets.deleted
OffsetsKeptStep ==
  \A each \in offsets.committed :
    each.partition \notin PartitionsOf(offsets'.committed) \cup DeletedNow =>
      /\ offsets.group = "Empty"
      /\ offsets.now - offsets.since >= Retention /\ offsets.now - each.time >= Retention
OffsetsKept == [][OffsetsKeptStep]_offsets

(* Nothing is left of a topic that is deleted, which one that is made anew  *)
(* with its name could be taken to have.                                    *)
NothingOfDeletedStep ==
  DeletedNow \cap PartitionsOf(offsets'.committed \cup offsets'.pending \cup offsets'.requested
                                 \cup offsets'.positions) = {}
NothingOfDeleted == [][NothingOfDeletedStep]_offsets

(* What a transaction has sent is committed or dropped as its own marker    *)
(* says, unless it sends another offset, or the topic is deleted.           *)
PendingByOwnMarkerStep ==
  \A each \in offsets.pending \ offsets'.pending :
    \/ each.partition \in DeletedNow
    \/ \E later \in offsets'.pending :
         later.partition = each.partition /\ later.transaction = each.transaction
    \/ \E marker \in offsets.markers :
         /\ marker.transaction = each.transaction
         /\ marker.commits => \E done \in offsets'.committed :
                               done.partition = each.partition /\ done.offset = each.offset
PendingByOwnMarker == [][PendingByOwnMarkerStep]_offsets
=============================================================================
