------------------------------ MODULE GroupBugs ------------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS GroupRules

(* Z90 (KAFKA-16147): revoked partitions are removed from the held set      *)
(* after newly assigned ones were added, and the two may overlap (G16).     *)
Z90_HeldAfter(held, before, after) ==
  ((held \ before.assigned) \cup Holding(after)) \ (before.pending \ after.pending)

(* Z91 (KAFKA-16249): if a heartbeat causes a new target, its list of owned *)
(* partitions is ignored, and the member will not send it again (G16, G17). *)
Z91_RevocationBlocks(member, m, retargeted) == retargeted \/ ~HasRevoked(member.pending, m)

(* Z92 (KAFKA-20634): a broker that led the log, and follows now, takes the *)
(* high watermark of what it fetches for that of its own records (G5).      *)
Z92_WaitingAfterMove(waiting) == waiting

(* Z93 (KAFKA-19862): a replay assigns a partition only if it is free; the  *)
(* entry that released it may have been cleaned (G50).                      *)
Z93_MayTake(heldEpoch, epoch) == heldEpoch = Unknown

(* Z94 (KAFKA-17306): what a tombstone removes has to be there (G50).       *)
Z94_IgnoresOrphan == FALSE

(* Z95 (KAFKA-16973): an operation without records waits only for           *)
(* operations of this coordinator, and not for what it has loaded (G3).     *)
Z95_WaitsForWritten(row) == row.waiting # {}

(* Z96 (KAFKA-18641): all fetched records are committed, even those that    *)
(* the application has not received (G29).                                  *)
Z96_Committable(position) == position.fetched

(* Z97 (KAFKA-17674): all partitions without a position are reset, even     *)
(* those whose offset was not requested (G28).                              *)
Z97_ToReset(row, rest) == rest

(* Z98 (KAFKA-16460): records are handed out after the commit that goes     *)
(* before the callbacks (G24).                                              *)
Z98_MayHandOut(row, p) == TRUE

(* Z100 (pull request 23542): a static member that joins while the group    *)
(* knows it is refused, also under its own id (G13).                        *)
Z100_JoinError(member) ==
  IF member.epoch = ReleasedEpoch THEN "NONE" ELSE "UNRELEASED_INSTANCE_ID"

(* Z101 (KAFKA-13636): a group that rebalances is taken to subscribe to     *)
(* nothing (G35).                                                           *)
Z101_MayExpire(row) == row.group # "Stable"

(* Z102: retention counts from the commit, also in a group that has just    *)
(* become empty (G35).                                                      *)
Z102_ExpiryBase(row, each) == each.time

(* Z103 (KAFKA-5600): a load ends after the first part of the log (G6).     *)
Z103_IsLoaded(position, endOffset) == position > 0 \/ position = endOffset

(* Z104 (KAFKA-10614): elections and resignations count in the order of     *)
(* their arrival (G6, G7).                                                  *)
Z104_IsOutdatedEvent(row, event) == FALSE

(* Z105 (KAFKA-10284): the new id of a static member is in memory only      *)
(* (G13).                                                                   *)
Z105_RecordsReplacement == FALSE

(* Z106 (KAFKA-17507): a marker is acknowledged when it is in the log, and  *)
(* the coordinator applies it later (G32).                                  *)
Z106_IsMarkerAnswered(row) == TRUE

(* Z107: a classic member looks whether there is a newer target, which      *)
(* perhaps nobody has made (G46).                                           *)
Z107_TellsToJoin(row, member, held) ==
  \/ member.epoch < row.targetEpoch
  \/ member.assigned # member.target /\ member.target \cap held = {}

(* Z108: a commit carries the epoch at sending, not the epoch at the        *)
(* request (G29).                                                           *)
Z108_StampedEpoch(row, request) == row.epoch

(* Z109 (Apache Kafka 4.3.1): a member reports what it has acknowledged, so *)
(* partitions that it is about to take count as revoked (G23).              *)
Z109_Report(row) == row.current

(* Z180: a group goes back to the classic protocol in a generation that its *)
(* members are in; that they are to join again is not recorded (G47).       *)
Z180_DowngradedGeneration(row) == row.epoch

(* Z181: when a group goes back to the classic protocol, what was to be a   *)
(* member's own is recorded as its own (G47).                               *)
Z181_AssignmentAfterDowngrade(member) == member.target

(* Z187 (Apache Kafka 4.3.1): a partition is taken in a larger epoch alone; *)
(* that of a member that has left for a while is smaller than any (G50).    *)
Z187_MayTake(heldEpoch, epoch) == heldEpoch = Unknown \/ heldEpoch < epoch

(* Z202: the group's target is older than an interval only when the clock   *)
(* has passed the time at which it was made.  The first target, of epoch 1, *)
(* is that of a former coordinator, whose clock was ahead: no other one     *)
(* comes to that time as long as anybody looks (G15).                       *)
Z202_NeedsTarget(group) == group.targetEpoch < group.epoch /\ group.targetEpoch # 1

(* Z210: an upgraded group forgets the partitions that its members still    *)
(* have from before their last assignment (G45).                            *)
Z210_PendingAfterUpgrade(member) == {}

(* Z215 (a mutant; the classic protocol does so): a member that joins under *)
(* an instance id replaces its holder, even one that has not left (G13).    *)
Z215_InstanceError(holder, m) == IF m.epoch = JoinEpoch THEN "NONE" ELSE "FENCED_INSTANCE_ID"

(* Z216 (a mutant): epoch -2 is taken for none, so that what is kept for a  *)
(* static member is free for others (G16, G19).                             *)
Z216_HeldAfter(held, before, after) ==
  (held \ Holding(before)) \cup (IF after.epoch < 0 THEN {} ELSE Holding(after))

(* Z217 (a mutant): another partition of a topic makes no new epoch (G14).  *)
Z217_ChangesMetadata(group, p) == FALSE

(* Z218 (a mutant): any two static members count as members of one instance *)
(* id (G13).                                                                *)
Z218_SharesInstance(m, n) == {m, n} \subseteq UNION Static

(* Z219 (a mutant): of topics only those are looked at that are there, so   *)
(* that a deletion makes no new epoch (G14).                                *)
Z219_ChangesMetadata(group, p) ==
  p \notin group.grown /\ \E n \in Members : p \in group.members[n].subscribed

(* Z220 (a mutant): what transactions have sent of a topic stays when it is *)
(* deleted (G36).                                                           *)
Z220_PendingAfterTombstone(row, p) == row.pending

(* Z221: a coordinator that has loaded does not look which topics were      *)
(* deleted meanwhile (G36).                                                 *)
Z221_ForgetsWhenLoaded == FALSE

(* Z240 (a mutant): an offset expires for whose partition a transaction has *)
(* sent another one (G35).                                                  *)
Z240_IsSpared(row, p) == FALSE

(* Z241 (a mutant): a transaction's offset becomes the group's although     *)
(* another one was committed after it (G32).                                *)
Z241_IsNewest(each) == TRUE

(* Z242 (a mutant): a marker commits or drops the offsets of all producers  *)
(* (G32).                                                                   *)
Z242_OfMarker(row, marker) == row.pending

(* Z243 (a mutant): offsets of a transaction are accepted whatever epoch    *)
(* they carry (G30, KIP-447).                                               *)
Z243_AcceptsTxnOffsets(row, request) == TRUE

(* Z244 (a mutant): a group is deleted although it has members (G37).       *)
Z244_MayDeleteGroup(row) == TRUE

(* Z245 (a mutant): a deletion of a topic removes offsets that were         *)
(* committed to the new topic of its name (G36).                            *)
Z245_GoesWithTopic(each) == TRUE

(* Z246 (a mutant): an offset of a deleted topic is returned for the new    *)
(* topic of its name (G33).                                                 *)
Z246_IsOfTopic(row, each) == TRUE

(* Z250 (KAFKA-20845): what an operation has changed in memory by itself is *)
(* reverted as its records are written (G51).                               *)
Z250_KeepsChanged == FALSE

(* Z313 (a mutant): a target is made without a look at what members         *)
(* subscribe to (G15).                                                      *)
Z313_IsTarget(group, owner) ==
  LET present == {n \in Members : group.members[n].state # "None"}
      share(n) == Cardinality({p \in DOMAIN owner : owner[p] = n})
  IN \A n, k \in present : share(n) <= share(k) + 1
==============================================================================
