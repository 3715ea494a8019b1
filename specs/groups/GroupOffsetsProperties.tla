----------------------- MODULE GroupOffsetsProperties -----------------------
(***************************************************************************)
(* What is promised of offsets, as named properties.  Law of this file: no  *)
(* decision of GroupRules is used.                                          *)
(***************************************************************************)
EXTENDS GroupOffsets

VARIABLE offsets   \* the row

PartitionsOf(entries) == {each.partition : each \in entries}

(* Of the topic that has the name now.                                      *)
Current == {each \in offsets.committed : each.partition \in offsets.renewed => each.anew}

(* Nothing is committed that was not handed out.                            *)
CommitsHandedOut ==
  \A position \in offsets.positions : \A each \in Current :
    each.partition = position.partition => each.offset <= position.handedOut

(* What is given up was committed as far as it was handed out.              *)
GivenUpIsCommittedStep ==
  \A position \in offsets.positions :
    position.partition \in offsets.revoking \ offsets'.taken =>
      \E each \in offsets'.committed :
        each.partition = position.partition /\ each.offset = position.handedOut
GivenUpIsCommitted == [][GivenUpIsCommittedStep]_offsets

(* Who takes a partition begins where it was committed, if it was; and with *)
(* the first record of a topic that has no offset.                          *)
StartAtCommittedStep ==
  \A position \in offsets'.positions :
    position.partition \notin PartitionsOf(offsets.positions) =>
      /\ \A each \in Current :
           each.partition = position.partition => each.offset = position.handedOut
      /\ position.partition \notin PartitionsOf(Current) => position.handedOut = 0
StartAtCommitted == [][StartAtCommittedStep]_offsets

(* What is committed goes back only for who has the partition.              *)
HandoverNoRegressStep ==
  \A each \in offsets.committed, later \in offsets'.committed :
    each.partition = later.partition /\ later.offset < each.offset =>
      each.partition \in offsets.taken
HandoverNoRegress == [][HandoverNoRegressStep]_offsets

(* An offset is forgotten only when the group has been empty as long as it  *)
(* is to be kept, nobody has committed since and no transaction has sent    *)
(* another one; or with its topic; or with its group, when that is empty.   *)
DeletedNow == offsets'.deleted \ offsets.deleted
GroupDeletedNow == offsets'.group = "Dead" /\ offsets.group # "Dead"
OffsetsKeptStep ==
  \A each \in offsets.committed :
    /\ each.partition \notin PartitionsOf(offsets'.committed)
    /\ ~(each.partition \in DeletedNow /\ ~each.anew)
    => /\ offsets.group = "Empty"
       /\ \/ GroupDeletedNow
          \/ /\ each.partition \notin PartitionsOf(offsets.pending)
             /\ offsets.now - offsets.since >= Retention
             /\ offsets.now - each.time >= Retention
OffsetsKept == [][OffsetsKeptStep]_offsets

(* Nothing is left of a topic that is deleted, which one that is made anew  *)
(* with its name could be taken to have.                                    *)
NothingOfDeletedStep ==
  /\ DeletedNow \cap PartitionsOf(offsets'.pending) = {}
  /\ (DeletedNow \ offsets.renewed)
        \cap PartitionsOf(offsets'.committed \cup offsets'.requested \cup offsets'.positions) = {}
  /\ (DeletedNow \cap offsets.renewed) \cap PartitionsOf(offsets'.committed)
        \subseteq PartitionsOf(Current)
NothingOfDeleted == [][NothingOfDeletedStep]_offsets

(* What a transaction has sent is committed or dropped as its own marker    *)
(* says, unless it sends another offset, or the topic or group is deleted.  *)
(* What was committed after it stays.                                       *)
PendingByOwnMarkerStep ==
  \A each \in offsets.pending \ offsets'.pending :
    \/ each.partition \in DeletedNow \/ GroupDeletedNow
    \/ \E later \in offsets'.pending :
         /\ later.partition = each.partition
         /\ later.transaction = each.transaction /\ later.producer = each.producer
    \/ \E marker \in offsets.markers :
         /\ marker.transaction = each.transaction /\ marker.producer = each.producer
         /\ marker.commits /\ ~each.overtaken =>
              \E done \in offsets'.committed :
                done.partition = each.partition /\ done.offset = each.offset
PendingByOwnMarker == [][PendingByOwnMarkerStep]_offsets
=============================================================================
