----------------------- MODULE GroupOffsetsProperties -----------------------
(***************************************************************************)
(* Named properties of a group's offsets. Law of this file: no decision of  *)
(* GroupRules is used.                                                      *)
(***************************************************************************)
EXTENDS GroupOffsets

VARIABLE offsets   \* the row

PartitionsOf(entries) == {each.partition : each \in entries}

(* The committed offsets of the topics that exist now.                      *)
Current == {each \in offsets.committed : each.partition \in offsets.renewed => each.anew}

(* Every committed offset is at most the position up to which records were  *)
(* given to the application. Misses: partitions that the member does not    *)
(* have, and records that were given and not processed.                     *)
CommitsHandedOut ==
  \A position \in offsets.positions : \A each \in Current :
    each.partition = position.partition => each.offset <= position.handedOut

(* Before a member gives a partition up, it has committed everything that   *)
(* the application received. Misses: a partition that is taken away without *)
(* a revocation (a fenced member).                                          *)
GivenUpIsCommittedStep ==
  \A position \in offsets.positions :
    position.partition \in offsets.revoking \ offsets'.taken =>
      \E each \in offsets'.committed :
        each.partition = position.partition /\ each.offset = position.handedOut
GivenUpIsCommitted == [][GivenUpIsCommittedStep]_offsets

(* A member that takes a partition begins at the committed offset, or at 0  *)
(* if there is none. Misses: a wrong commit, and the time between reading   *)
(* the offset and taking the partition.                                     *)
StartAtCommittedStep ==
  \A position \in offsets'.positions :
    position.partition \notin PartitionsOf(offsets.positions) =>
      /\ \A each \in Current :
           each.partition = position.partition => each.offset = position.handedOut
      /\ position.partition \notin PartitionsOf(Current) => position.handedOut = 0
StartAtCommitted == [][StartAtCommittedStep]_offsets

(* A committed offset decreases only while the member has the partition.    *)
(* Misses: a member that has the partition and goes back.                   *)
HandoverNoRegressStep ==
  \A each \in offsets.committed, later \in offsets'.committed :
    each.partition = later.partition /\ later.offset < each.offset =>
      each.partition \in offsets.taken
HandoverNoRegress == [][HandoverNoRegressStep]_offsets

DeletedNow == offsets'.deleted \ offsets.deleted
GroupDeletedNow == offsets'.group = "Dead" /\ offsets.group # "Dead"
(* An offset disappears only with its topic, with its empty group, or by    *)
(* expiry. It expires if the group was empty for the retention time, nobody *)
(* committed since, and no transaction has a pending offset for the         *)
(* partition. Misses: offsets that are kept too long.                       *)
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

(* After the deletion of a topic no state remains that a new topic of the   *)
(* same name could inherit. Misses: later effects of the deletion.          *)
NothingOfDeletedStep ==
  /\ DeletedNow \cap PartitionsOf(offsets'.pending) = {}
  /\ (DeletedNow \ offsets.renewed)
        \cap PartitionsOf(offsets'.committed \cup offsets'.requested \cup offsets'.positions) = {}
  /\ (DeletedNow \cap offsets.renewed) \cap PartitionsOf(offsets'.committed)
        \subseteq PartitionsOf(Current)
NothingOfDeleted == [][NothingOfDeletedStep]_offsets

(* A pending offset is committed or dropped by the marker of its own        *)
(* producer and transaction, unless the transaction sends another offset or *)
(* the topic or group is deleted. An offset that was committed later stays. *)
(* Misses: a marker that never arrives.                                     *)
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
