----------------------------- MODULE GroupRules -----------------------------
(***************************************************************************)
(* Every decision of consumer groups (KIP-848) that has a name: of the      *)
(* group coordinator and of its members, and no messages sent, no           *)
(* variables.  A bug is one of these operators replaced (bugs,              *)
(* `Op <- [GroupRules] BugOp`).                                             *)
(*                                                                          *)
(* Rule ids (G3 ...) are those of docs/protocol-rules.md. Where Apache      *)
(* Kafka 4.3.1 decides otherwise, this file has the correct rule, and       *)
(* Kafka's is an overlay (Z100, Z102, Z108, Z109).                          *)
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
                \* is deleted; one that is made anew has another id, and is another here)

JoinEpoch == 0     \* of a heartbeat that joins
LeaveEpoch == -1   \* of one that leaves
Unknown == -1      \* no previous epoch
ReleasedEpoch == -2   \* of a static member that has left for a while

(* What a heartbeat says only when it has changed, or when all is said.     *)
AllFields == {"RebalanceTimeout", "Subscription", "Owned"}

Holding(member) == member.assigned \cup member.pending

-----------------------------------------------------------------------------
(* Coordinator: runtime.                                                    *)

(* G3.  What needs no record is answered when all is committed that it was  *)
(* computed from: of this coordinator, or of one before it.                 *)
WaitsForWritten(row) == row.log.leader # <<>>

(* G5, G7.  Who waits for an answer when another coordinator takes over     *)
(* gets none from it: it may lack what was to be answered.                  *)
WaitingAfterMove(waiting) == {}

-----------------------------------------------------------------------------
(* Coordinator: heartbeats.                                                 *)

(* G12.  The answer with the newer epoch was lost.                          *)
AcceptsPreviousEpoch(member, m) ==
  /\ m.epoch = member.previousEpoch
  /\ "Owned" \in m.given /\ m.owned \subseteq member.assigned

(* G13.  Of a member that joins and is known: its answer was lost.  Kafka   *)
(* refuses it to a static one, who gives up then (Z100).                    *)
JoinError(member) == "NONE"

(* G13.  Whether two consumers have one instance id.                        *)
SharesInstance(m, n) == \E each \in Static : {m, n} \subseteq each

(* G13.  Of a heartbeat under an instance id that another member has, the   *)
(* holder.  Who has left for a while is replaced by who joins.              *)
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

(* G17.  The member says what it has, and these are not among it.           *)
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

(* G6, G7.  An election or resignation that is heard of after a newer one.  *)
IsOutdatedEvent(row, event) == event.epoch <= row.epoch

(* G6.  A log is read to its end.                                           *)
IsLoaded(position, endOffset) == position = endOffset

(* G50.  Who still seems to have a partition was relieved of it by an entry *)
(* that was cleaned away, if who takes it has a newer epoch, or has left    *)
(* for a while since he took it.                                            *)
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

(* G47.  The generation in which a group goes back: none that a member      *)
(* knows, so that each joins again, whoever coordinates it then.  Kafka     *)
(* takes the group epoch, and tells them from memory (Z180).                *)
DowngradedGeneration(row) == BumpedEpoch(row.epoch)

(* G47.  What is recorded as a member's own when a group goes back: what it *)
(* has.  Kafka records what was to be its own, and others may have (Z181).  *)
AssignmentAfterDowngrade(member) == Holding(member)

(* G45.  What a classic member may have still of what it had when it joined *)
(* last, as it has not heard perhaps that it is not its own any more.       *)
(* Kafka forgets it (Z210).                                                 *)
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

(* G28.  What is reset of those without a position: what was asked for, and *)
(* had no offset.                                                           *)
ToReset(row, rest) == row.asked \cap rest

(* G29.  Kafka stamps a commit when it is sent, also a member that was      *)
(* fenced since it was asked for, and joined again (Z108).                  *)
StampedEpoch(row, request) == request.epoch

(* G32.  A transaction has ended when the coordinator has done what its     *)
(* marker says, so that the next one begins after that (KAFKA-17507).       *)
IsMarkerAnswered(row) == \A marker \in row.markers : marker.producer # Own

(* G32.  The offsets that a marker commits or drops: those of its own       *)
(* producer (OffsetMetadataManager.replayEndTransactionMarker).             *)
OfMarker(row, marker) == {each \in row.pending : each.producer = marker.producer}

(* G32.  Whether a transaction's offset becomes the group's when it is      *)
(* committed: its record stands after that of the group's offset.           *)
IsNewest(each) == ~each.overtaken

(* G30.  Whether offsets of a transaction are accepted: they carry the      *)
(* epoch of their member, which may have been fenced since (KIP-447).       *)
AcceptsTxnOffsets(row, request) == request.epoch = row.epoch

(* G33.  Whether a partition's offset may be told: no transaction is to     *)
(* change it.                                                               *)
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

(* G33, G36.  Whether an offset is returned to a member that asks for the   *)
(* partition by topic id: not one of the deleted topic of that name         *)
(* (OffsetMetadataManager.isMismatchedTopicId).                             *)
IsOfTopic(row, each) == each.partition \in row.renewed => each.anew

(* G37.  A group is deleted on request only when it is empty                *)
(* (validateDeleteGroup).                                                   *)
MayDeleteGroup(row) == row.group = "Empty"

-----------------------------------------------------------------------------
(* Member.                                                                  *)

(* G23.  What a member says it has.  Kafka's says what it has acknowledged  *)
(* (Z109): what it is about to take is then free for others.                *)
Report(row) == row.current \cup row.target \cup row.reconciling

(* G23.  A response counts only for the request in flight.                  *)
IsAwaited(row, m) == row.awaiting /\ m.correlation = row.correlation

(* G23.  What the next heartbeat says after one that failed.                *)
UnsentAfterFailure(unsent) == AllFields

(* G19.  With which epoch a consumer leaves: a static one for a while.      *)
EpochOfLeaving(n) == IF n \in UNION Static THEN ReleasedEpoch ELSE LeaveEpoch

(* G25.  What a member that was fenced may go on to fetch.                  *)
OwnedAfterFence(owned) == {}
=============================================================================
