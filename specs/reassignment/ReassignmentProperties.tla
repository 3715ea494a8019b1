----------------------- MODULE ReassignmentProperties ------------------------
(***************************************************************************)
(* What reassignments promise, as named properties.                         *)
(*                                                                          *)
(* Law of this file: no operator of ReassignmentRules or PartitionRules     *)
(* that decides anything is used.                                           *)
(***************************************************************************)
EXTENDS Reassignments

VARIABLES
  controller,  \* its whole state
  holders      \* by partition: the brokers whose logs have all that may have been acknowledged

Reassigning(p) == p.adding # {} \/ p.removing # {}

(* Of a partition before and after a step: the reassignment was given up.   *)
GivenUp(p, q) ==
  p.adding # {} /\ ~Reassigning(q) /\ p.adding \cap RangeOf(q.replicas) = {}

(* So many must have a record before it is acknowledged (acks=all).         *)
NeededBy(row, p) == MinOf(MinIsr(row), Len(p.replicas))

(* Who has all that may have been acknowledged after a step.  A broker that *)
(* is no replica deletes its log.  Without LeaderNotes, who enters the ISR  *)
(* beside a leader without having been eligible has copied the log, and     *)
(* with an ISR that is large enough records are acknowledged that nobody    *)
(* else has; with them a leader's notes, before the step and after it, tell *)
(* both.  An unclean election that is allowed gives up what the new leader  *)
(* has not.                                                                 *)
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
(* Of every state.                                                          *)

(* Who is in sync, eligible, added, removed or the last known leader is a   *)
(* replica; nobody is added and removed.                                    *)
IsrElrAreReplicas ==
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i] IN
    /\ (p.isr \cup p.elr \cup p.adding \cup p.removing) \subseteq RangeOf(p.replicas)
    /\ p.lastKnownLeader \in RangeOf(p.replicas) \cup {Nobody}
    /\ p.adding \cap p.removing = {}

(* A leader is in sync, and all who are in sync with it are active; nobody  *)
(* is in sync and eligible.                                                 *)
ValidControllerState ==
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i] IN
    /\ p.leader # Nobody =>
         /\ p.leader \in p.isr
         /\ \A b \in p.isr : controller.registrations[b].state = "Active"
    /\ p.isr \cap p.elr = {}
    /\ ElrEnabled \/ p.isr # {}

(* Whoever may be elected without loss has all that was acknowledged.       *)
LeaderCandidateCompleteness ==
  UncleanElection \/
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i] IN
    (p.isr \cup (p.elr \cap RangeOf(p.replicas))) \subseteq holders[i]

(* No leader is in a directory that has failed.                             *)
OfflineDirNeverLeads ==
  \A i \in DOMAIN controller.partitions :
    LET p == controller.partitions[i]
        directory == p.directories[p.leader]
    IN p.leader # Nobody =>
         directory = Unassigned \/ directory \in controller.registrations[p.leader].directories

(* When nothing is under way, the replicas are those that were asked for.   *)
TargetReached ==
  \A i \in DOMAIN controller.partitions :
    \/ Reassigning(controller.partitions[i])
    \/ controller.partitions[i].replicas = controller.targets[i].replicas

-----------------------------------------------------------------------------
(* Of every step.                                                           *)

Kept(P(_, _)) ==
  \A i \in DOMAIN controller'.partitions :
    Same(controller, controller', i) => P(controller.partitions[i], controller'.partitions[i])

(* A reassignment that ends leaves an ISR that is large enough, or as large *)
(* as it was.                                                               *)
ReassignmentKeepsMinIsrStep ==
  LET ends(p, q) == /\ ~Reassigning(q) /\ ~GivenUp(p, q)
                    /\ Reassigning(p) \/ RangeOf(p.replicas) # RangeOf(q.replicas)
      enough(p, q) ==
        ends(p, q) => Cardinality(q.isr) >= MinOf(NeededBy(controller, q), Cardinality(p.isr))
  IN Kept(enough)

(* Every change has a partition epoch, and one of the leader or by which a  *)
(* replica leaves has a leader epoch.                                       *)
EpochsGrowStep ==
  LET grows(p, q) ==
        /\ q = p \/ q.partitionEpoch > p.partitionEpoch
        /\ q.leaderEpoch >= p.leaderEpoch
        /\ (q.leader # p.leader \/ ~(RangeOf(p.replicas) \subseteq RangeOf(q.replicas)))
             => q.leaderEpoch > p.leaderEpoch
  IN Kept(grows)

(* No two topics have one id.                                               *)
TopicIdsAreNewStep ==
  controller'.topicId \in {0, controller.topicId} \/ controller'.topicId > controller.topicsMade

(* R9.  Where there are racks, a new partition is spread over them: of two  *)
(* none has two replicas more than the other, unless that has no broker     *)
(* left that is registered and does not stop.                               *)
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
