----------------------------- MODULE GroupRules -----------------------------
(***************************************************************************)
(* Every decision of consumer groups (KIP-848) that has a name: of the      *)
(* group coordinator and of its members, and no messages sent, no           *)
(* variables.  A bug is one of these operators replaced (bugs,              *)
(* `Op <- [GroupRules] BugOp`).                                             *)
(*                                                                          *)
(* Rule ids (G3 ...) are those of docs/reference/protocol-rules.md. Where   *)
(* Apache Kafka 4.3.1 decides otherwise, this file has the correct rule,    *)
(* and Kafka's is an overlay (Z100, Z102, Z108, Z109).                      *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Members,      \* the consumers that may be members
  Partitions,   \* of the topics that they subscribe to; each is a topic of its own
  Static,       \* the instance ids: of each, the consumers that have it; {}: nobody has one
  Growing       \* the partitions that come (a topic grows, or a regex finds another) and go (it
                \* is deleted; one that is created again has another id, and is another here)

JoinEpoch == 0     \* of a heartbeat that joins
LeaveEpoch == -1   \* of one that leaves
Unknown == -1      \* no previous epoch
ReleasedEpoch == -2   \* of a static member that has left for a while

(* The fields that a heartbeat contains only if they have changed, or if it *)
(* reports everything.                                                      *)
AllFields == {"RebalanceTimeout", "Subscription", "Owned"}

Holding(member) == member.assigned \cup member.pending

-----------------------------------------------------------------------------
(* Coordinator: runtime.                                                    *)

(* An operation without records is answered when everything that it read is *)
(* committed, also records of an earlier coordinator (G3).                  *)
WaitsForWritten(row) == row.log.leader # <<>>

(* Requests that wait when another coordinator takes over get no response   *)
(* from it, because it may lack the records (G5, G7).                       *)
WaitingAfterMove(waiting) == {}

-----------------------------------------------------------------------------
(* Coordinator: heartbeats.                                                 *)

(* G12.  The answer with the newer epoch was lost.                          *)
AcceptsPreviousEpoch(member, m) ==
  /\ m.epoch = member.previousEpoch
  /\ "Owned" \in m.given /\ m.owned \subseteq member.assigned

(* A known member that joins again has lost a response. Kafka refuses a     *)
(* static one, which then gives up (G13; Z100).                             *)
JoinError(member) == "NONE"

(* G13.  Whether two consumers have one instance id.                        *)
SharesInstance(m, n) == \E each \in Static : {m, n} \subseteq each

(* The error for a heartbeat under an instance id that another member, the  *)
(* holder, has. A joining member replaces a holder that has left            *)
(* temporarily (G13).                                                       *)
InstanceError(holder, m) ==
  CASE m.epoch # JoinEpoch -> "FENCED_INSTANCE_ID"
    [] holder.epoch # ReleasedEpoch -> "UNRELEASED_INSTANCE_ID"
    [] OTHER -> "NONE"

(* G12.  Of a member that the group knows.  Epoch 0 is always accepted      *)
(* (KAFKA-19233).                                                           *)
MemberEpochError(member, m) ==
  CASE m.epoch = JoinEpoch -> JoinError(member)
    [] m.epoch > member.epoch -> "FENCED_MEMBER_EPOCH"
    [] m.epoch < member.epoch /\ ~AcceptsPreviousEpoch(member, m) -> "FENCED_MEMBER_EPOCH"
    [] OTHER -> "NONE"

(* G14, G21.                                                                *)
BumpedEpoch(epoch) == epoch + 1

(* G14.  A member that joins has changed its subscription, too.             *)
ChangesSubscription(before, after) == before.subscribed # after.subscribed

(* G14.  Of a partition that comes or goes: whether somebody subscribes to  *)
(* its topic, so that the hash of the group's metadata is another one.      *)
ChangesMetadata(group, p) == \E n \in Members : p \in group.members[n].subscribed

(* G15.  Without the assignment interval.                                   *)
NeedsTarget(group) == group.targetEpoch < group.epoch

(* G15.  owner: of each partition that somebody subscribes to.              *)
IsTarget(group, owner) ==
  LET share(n) == {p \in DOMAIN owner : owner[p] = n}
  IN /\ \A p \in DOMAIN owner : p \in group.members[owner[p]].subscribed
     /\ \A p \in DOMAIN owner, n \in Members :
          p \in group.members[n].subscribed =>
            Cardinality(share(owner[p])) <= Cardinality(share(n)) + 1

(* G16.  Nobody holds it, or the member itself, which was to give it up.    *)
IsFree(group, member, p) == p \notin group.held \/ p \in member.pending

(* G16.  What is held after a member has changed.                           *)
HeldAfter(held, before, after) == (held \ Holding(before)) \cup Holding(after)

(* The member reports its partitions, and these are not among them (G17).   *)
HasRevoked(partitions, m) == "Owned" \in m.given /\ m.owned \cap partitions = {}

(* G16.  Whether a member has to revoke before anything else; retargeted:   *)
(* this heartbeat has made a new target.                                    *)
RevocationBlocks(member, m, retargeted) == ~HasRevoked(member.pending, m)

(* G18.                                                                     *)
TellsAssignment(m, before, after) ==
  m.epoch = JoinEpoch \/ m.given = AllFields \/ after.assigned # before.assigned

(* G19.  What is kept for a static member that has left for a while.        *)
KeptForAWhile(member) == member.assigned

(* G20.  Of a member whose time to revoke is over.                          *)
IsRevocationLate(member) == member.state = "Unrevoked"

-----------------------------------------------------------------------------
(* A broker that loads the log.                                             *)

(* An election or resignation that arrives after a newer one (G6, G7).      *)
IsOutdatedEvent(row, event) == event.epoch <= row.epoch

(* G6.  A log is read to its end.                                           *)
IsLoaded(position, endOffset) == position = endOffset

(* The partition still seems to have an owner, but a cleaned record has     *)
(* released it. This is so if the new owner has a newer epoch, or has left  *)
(* temporarily since it took the partition (G50).                           *)
MayTake(heldEpoch, epoch) == heldEpoch < epoch \/ epoch = ReleasedEpoch

(* G50.  Whether a partition is free that a member had in an epoch; shared: *)
(* one that has left for a while seems to have it as well.  All of these    *)
(* have one epoch, and it may be the other's by now.                        *)
LetsGo(epoch, shared) == epoch # ReleasedEpoch \/ ~shared

(* G50.  A tombstone may be all that is left of a key.                      *)
IgnoresOrphan == TRUE

(* G13.  The id of a static member that replaces another is for all         *)
(* coordinators to come.                                                    *)
RecordsReplacement == TRUE

(* G51.  What an operation has changed in memory by itself stays when its   *)
(* records are appended, also where these get a batch of their own.  Kafka  *)
(* 4.3.1 flushes the empty one before it, and so reverts its memory         *)
(* (KAFKA-20845, Z250).                                                     *)
KeepsChanged == TRUE

-----------------------------------------------------------------------------
(* Members of both protocols.                                               *)

(* G47.  Whether a group goes back to the classic protocol                  *)
(* (group.consumer.migration.policy).                                       *)
MigratesBack(row) == row.policy = "Bidirectional"

(* The generation of a downgraded group: none that a member knows, so each  *)
(* member joins again under any coordinator. Kafka uses the group epoch,    *)
(* and keeps the need to join in memory (G47; Z180).                        *)
DowngradedGeneration(row) == BumpedEpoch(row.epoch)

(* A downgraded group records the partitions that each member has. Kafka    *)
(* records the targets, which others may still have (G47; Z181).            *)
AssignmentAfterDowngrade(member) == Holding(member)

(* The partitions that a classic member may still have from its last join,  *)
(* as perhaps it has not learned that it must give them up. Kafka forgets   *)
(* them (G45; Z210).                                                        *)
PendingAfterUpgrade(member) == member.owned \ member.assigned

(* G46.  Whether a classic member is to join again: the group has changed,  *)
(* or all is free that it waits for; held: what others have.  Kafka         *)
(* compares with the target's epoch, which nobody may make (Z107).          *)
TellsToJoin(row, member, held) ==
  \/ member.epoch < row.epoch
  \/ member.assigned # member.target /\ member.target \cap held = {}

-----------------------------------------------------------------------------
(* Offsets.                                                                 *)

Retention == 2   \* how long offsets are kept
Own == 1         \* the consumer's producer
OfOthers == 2    \* that of another member

(* G29.  What a consumer commits by itself of a position.                   *)
Committable(position) == position.handedOut

(* G24.  Of a partition that is being given up nothing is handed out.       *)
MayHandOut(row, p) == p \notin row.revoking

(* The partitions to reset: those whose offset was requested and that have  *)
(* none (G28).                                                              *)
ToReset(row, rest) == row.asked \cap rest

(* The epoch of a commit. Kafka takes the epoch at sending, even if the     *)
(* member was fenced after the request and has joined again (G29; Z108).    *)
StampedEpoch(row, request) == request.epoch

(* A transaction has ended when the coordinator has applied its marker, so  *)
(* the next one begins after that (G32; KAFKA-17507).                       *)
IsMarkerAnswered(row) == \A marker \in row.markers : marker.producer # Own

(* G32.  The offsets that a marker commits or drops: those of its own       *)
(* producer (OffsetMetadataManager.replayEndTransactionMarker).             *)
OfMarker(row, marker) == {each \in row.pending : each.producer = marker.producer}

(* Whether a transaction's offset becomes the group's at its commit: its    *)
(* record is after the record of the group's offset (G32).                  *)
IsNewest(each) == ~each.overtaken

(* G30.  Whether offsets of a transaction are accepted: they carry the      *)
(* epoch of their member, which may have been fenced since (KIP-447).       *)
AcceptsTxnOffsets(row, request) == request.epoch = row.epoch

(* Whether a partition's offset may be returned: no transaction may change  *)
(* it (G33).                                                                *)
IsStableOffset(row, p) == \A each \in row.pending : each.partition # p

(* G35.  Kafka counts from the commit in groups of the consumer protocol    *)
(* (Z102).                                                                  *)
ExpiryBase(row, each) == IF each.time > row.since THEN each.time ELSE row.since

(* G35.  Of a group that rebalances nobody knows what it subscribes to.     *)
MayExpire(row) == row.group = "Empty"

(* G35.  An offset is spared while a transaction has sent another one for   *)
(* its partition (OffsetMetadataManager.cleanupExpiredOffsets).             *)
IsSpared(row, p) == \E each \in row.pending : each.partition = p

(* G36, G37.  A tombstone of an offset removes what transactions have sent  *)
(* for the partition as well (OffsetMetadataManager.replay).                *)
PendingAfterTombstone(row, p) == {each \in row.pending : each.partition # p}

(* G36.  A coordinator that has loaded its log forgets what is of topics    *)
(* that were deleted meanwhile.  Kafka's does not look (Z221).              *)
ForgetsWhenLoaded == TRUE

(* G36.  Whether a deletion of the partition's topic removes this offset.   *)
(* One that was committed to the new topic of that name carries another     *)
(* topic id (OffsetMetadataManager.onTopicsDeleted).                        *)
GoesWithTopic(each) == ~each.anew

(* Whether an offset is returned to a request with a topic id: not the      *)
(* offset of a deleted topic of the same name (G33, G36;                    *)
(* OffsetMetadataManager.isMismatchedTopicId).                              *)
IsOfTopic(row, each) == each.partition \in row.renewed => each.anew

(* G37.  A group is deleted on request only when it is empty                *)
(* (validateDeleteGroup).                                                   *)
MayDeleteGroup(row) == row.group = "Empty"

-----------------------------------------------------------------------------
(* Member.                                                                  *)

(* The partitions that a member reports. Kafka reports the acknowledged     *)
(* ones, so those that the member is about to take are free for others      *)
(* (G23; Z109).                                                             *)
Report(row) == row.current \cup row.target \cup row.reconciling

(* G23.  A response counts only for the request in flight.                  *)
IsAwaited(row, m) == row.awaiting /\ m.correlation = row.correlation

(* The fields of the next heartbeat after a failed one (G23).               *)
UnsentAfterFailure(unsent) == AllFields

(* G19.  With which epoch a consumer leaves: a static one for a while.      *)
EpochOfLeaving(n) == IF n \in UNION Static THEN ReleasedEpoch ELSE LeaveEpoch

(* The partitions that a fenced member may continue to fetch (G25).         *)
OwnedAfterFence(owned) == {}
=============================================================================
