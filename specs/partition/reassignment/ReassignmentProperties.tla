----------------------- MODULE ReassignmentProperties ------------------------
(***************************************************************************)
(* Named properties of reassignments.                                       *)
(*                                                                          *)
(* Law of this file: no operator of ReassignmentRules or PartitionRules     *)
(* that decides anything is used.                                           *)
(***************************************************************************)
EXTENDS Reassignments

VARIABLES
  controller,  \* its whole state
  holders      \* by partition: the brokers whose logs have all that may have been acknowledged

Reassigning(p) == p.adding # {} \/ p.removing # {}

(* The step from p to q has cancelled the reassignment.                     *)
GivenUp(p, q) ==
  p.adding # {} /\ ~Reassigning(q) /\ p.adding \cap RangeOf(q.replicas) = {}

(* The number of copies that an acknowledged record needs (acks=all).       *)
NeededBy(row, p) == MinOf(MinIsr(row), Len(p.replicas))

(* The brokers that have all acknowledged records after a step. A broker    *)
(* that is no replica deletes its log. Without LeaderNotes two assumptions  *)
(* are made. A broker that enters the ISR of a leader, and was not eligible *)
(* before, has copied the log. And if the ISR is large enough, records are  *)
(* acknowledged that only its members have. With LeaderNotes the leader's   *)
(* notes before and after the step decide both. An allowed unclean election *)
(* gives up the records that the new leader lacks.                          *)
Acknowledged(before, after) == after.endOffset > before.endOffset

FetchedAll(before, after) ==
  IF Acknowledged(before, after) THEN {}
  ELSE {b \in Brokers : after.ends[b] = after.endOffset /\ before.ends[b] # after.ends[b]}

HoldersOf(p, q, known, copied, acknowledged) ==
  LET allowed == /\ q.recovering /\ q.leader # p.leader
                 /\ UncleanElection \/ p.leader = Nobody
      have == IF allowed THEN q.isr ELSE (known \cup copied) \cap RangeOf(q.replicas)
  IN IF acknowledged THEN have \cap q.isr ELSE have

HoldersWithoutNotes(new, p, q, known) ==
  HoldersOf(p, q, known,
    IF p.leader = Nobody \/ GivenUp(p, q) THEN {} ELSE q.isr \ (p.isr \cup p.elr),
    q.leader # Nobody /\ Cardinality(q.isr) >= NeededBy(new, q))

Same(old, new, i) == old.topicId = new.topicId /\ i \in DOMAIN old.partitions

HoldersAfter(old, new, known) ==
  [i \in DOMAIN new.partitions |->
     CASE ~Same(old, new, i) -> new.partitions[i].isr
       [] LeaderNotes -> HoldersOf(old.partitions[i], new.partitions[i], known[i],
                           FetchedAll(old.leaders[i], new.leaders[i]),
                           Acknowledged(old.leaders[i], new.leaders[i]))
       [] OTHER -> HoldersWithoutNotes(new, old.partitions[i], new.partitions[i], known[i])]

-----------------------------------------------------------------------------
(* Properties of states.                                                    *)

(* Members of ISR, ELR, adding and removing lists and the last known leader *)
(* are replicas, and no replica is both added and removed. Misses: a        *)
(* replica that is counted and lacks records.                               *)
IsrElrAreReplicas ==
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i] IN
    /\ (p.isr \cup p.elr \cup p.adding \cup p.removing) \subseteq RangeOf(p.replicas)
    /\ p.lastKnownLeader \in RangeOf(p.replicas) \cup {Nobody}
    /\ p.adding \cap p.removing = {}

(* A leader is in its ISR, all members of its ISR are active, and ISR and   *)
(* ELR are disjoint. Without ELR the ISR is never empty. Misses: partitions *)
(* without a leader, and dead brokers that are not fenced yet.              *)
ValidControllerState ==
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i] IN
    /\ p.leader # Nobody =>
         /\ p.leader \in p.isr
         /\ \A b \in p.isr : controller.registrations[b].state = "Active"
    /\ p.isr \cap p.elr = {}
    /\ ElrEnabled \/ p.isr # {}

(* Every replica that can be elected without loss has all acknowledged      *)
(* records. Misses: unclean elections, and the brokers' real logs: the      *)
(* property derives their records from the controller's steps.              *)
LeaderCandidateCompleteness ==
  UncleanElection \/
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i] IN
    (p.isr \cup (p.elr \cap RangeOf(p.replicas))) \subseteq holders[i]

(* The leader's directory is not one that has failed. Misses: a failed      *)
(* directory that was not reported, and an unassigned one.                  *)
OfflineDirNeverLeads ==
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i]
        directory == p.directories[p.leader]
    IN p.leader # Nobody =>
         directory = Unassigned \/ directory \in controller.registrations[p.leader].directories

(* Without a reassignment the replicas are those of the last request.       *)
(* Misses: a reassignment that never ends.                                  *)
TargetReached ==
  \A i \in DOMAIN controller.partitions :
    \/ Reassigning(controller.partitions[i])
    \/ controller.partitions[i].replicas = controller.targets[i].replicas

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

Kept(P(_, _)) ==
  \A i \in DOMAIN controller'.partitions :
    Same(controller, controller', i) => P(controller.partitions[i], controller'.partitions[i])

(* A completed reassignment leaves an ISR of at least min ISR, or of the    *)
(* size before. Misses: an ISR that shrinks right after, and a cancelled    *)
(* reassignment.                                                            *)
ReassignmentKeepsMinIsrStep ==
  LET ends(p, q) == /\ ~Reassigning(q) /\ ~GivenUp(p, q)
                    /\ Reassigning(p) \/ RangeOf(p.replicas) # RangeOf(q.replicas)
      enough(p, q) ==
        ends(p, q) => Cardinality(q.isr) >= MinOf(NeededBy(controller, q), Cardinality(p.isr))
  IN Kept(enough)

(* Every change raises the partition epoch. A new leader and the removal of *)
(* a replica also raise the leader epoch. Misses: an epoch that increases   *)
(* without a change.                                                        *)
EpochsGrowStep ==
  LET grows(p, q) ==
        /\ q = p \/ q.partitionEpoch > p.partitionEpoch
        /\ q.leaderEpoch >= p.leaderEpoch
        /\ (q.leader # p.leader \/ ~(RangeOf(p.replicas) \subseteq RangeOf(q.replicas)))
             => q.leaderEpoch > p.leaderEpoch
  IN Kept(grows)

(* A new topic has a new id. Misses: two controllers that create topics at  *)
(* the same time.                                                           *)
TopicIdsAreNewStep ==
  controller'.topicId \in {0, controller.topicId} \/ controller'.topicId > controller.topicsMade

(* A new partition is spread over both racks: neither has two replicas more *)
(* than the other, unless the other has no usable broker left (R9). Misses: *)
(* replicas that an administrator moves into one rack.                      *)
SpreadOverRacksStep ==
  LET usable == {b \in Brokers : controller.registrations[b].state \in {"Active", "Fenced"}}
      spread(replicas) ==
        \A rack \in {SecondRack, Brokers \ SecondRack} :
          \/ usable \ rack \subseteq replicas
          \/ Cardinality(replicas \cap rack) <= Cardinality(replicas \ rack) + 1
  IN SecondRack # {} =>
       \A i \in DOMAIN controller'.partitions :
         Same(controller, controller', i) \/ spread(RangeOf(controller'.partitions[i].replicas))
=============================================================================
