-------------------------- MODULE ReassignmentRules --------------------------
(***************************************************************************)
(* Every named decision of the controller about partitions whose replicas   *)
(* change (KIP-455, KIP-860, KIP-966, KIP-858). PartitionRules chooses a    *)
(* leader under one list of replicas. This module decides which list is in  *)
(* force, and which replicas are eligible. The Python twin is               *)
(* reference/partition/reassignment/rules.py.                                         *)
(*                                                                          *)
(* Rule ids (R1 ...) are those of docs/reference/protocol-rules.md.         *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS ReplicaLog

CONSTANTS
  Brokers,             \* all of the cluster
  FirstReplicas,       \* of the first partition, in assignment order
  Directories,         \* of each broker: numbers above 0
  MinInsyncReplicas,   \* min.insync.replicas of a new topic
  ElrEnabled,          \* eligible.leader.replicas.version = 1 (KIP-966)
  UncleanElection,     \* unclean.leader.election.enable
  SecondRack,          \* the brokers in another rack than the others; empty: none has a rack
  LeaderNotes          \* a leader's notes of fetches decide who joins the ISR; without it,
                       \* who has copied the log comes with the input

Nobody == -1
Unassigned == 0        \* no directory is known of the replica, or the broker has none

RangeOf(sequence) == {sequence[i] : i \in 1..Len(sequence)}

(* A list without these, in its order.                                      *)
Without(sequence, brokers) == SelectSeq(sequence, LAMBDA b : b \notin brokers)

(* min.insync.replicas in force.                                            *)
MinIsr(row) == IF row.minIsr = 0 THEN MinInsyncReplicas ELSE row.minIsr

-----------------------------------------------------------------------------
(* Reassignment: R1 to R4.                                                  *)

(* R9.  A list of replicas: not empty, nobody twice, all registered.        *)
PlacementRefused(row, replicas) ==
  CASE replicas = <<>> -> "INVALID_REPLICA_ASSIGNMENT"
    [] Cardinality(RangeOf(replicas)) # Len(replicas) -> "INVALID_REPLICA_ASSIGNMENT"
    [] \E b \in RangeOf(replicas) : row.registrations[b].state = "Unregistered" ->
         "INVALID_REPLICA_ASSIGNMENT"
    [] OTHER -> ""

(* R9 (StripedReplicaPlacer.RackList.place).  Racks take turns: after one   *)
(* broker comes one of the other rack, as long as that has any left.  Its   *)
(* fenced ones may be passed over after active ones: the placer begins to   *)
(* count again when as many lists were made as brokers are active, and takes*)
(* the one tried last at the same count for used up.  Where the turn is a   *)
(* rack's without anybody active, the first one is of the other rack, whose *)
(* own turn falls out: then the third may be of the same rack as the        *)
(* second.  `taken` are those of the list before b, in its order.           *)
TakesTurns(active, usable, taken, b) ==
  LET mine == {o \in usable : (o \in SecondRack) = (b \in SecondRack)}
      others == usable \ mine
      passedOver == Cardinality(active) > 1 /\ others \cap active # {}
      left == (IF passedOver THEN others \cap active ELSE others) \ RangeOf(taken)
  IN \/ taken[Len(taken)] \notin mine
     \/ left = {}
     \/ Len(taken) = 2 /\ mine \cap active = {}

(* Whether the placer may choose a list: no stopping broker, an active one  *)
(* first, and within a rack active brokers before fenced ones (R9;          *)
(* StripedReplicaPlacer).                                                   *)
PlacerChooses(row, replicas) ==
  LET state(b) == row.registrations[b].state
      active == {b \in Brokers : state(b) = "Active"}
      usable == active \cup {b \in Brokers : state(b) = "Fenced"}
      before(i) == {replicas[j] : j \in 1..(i - 1)}
      rack(b) == {o \in active : (o \in SecondRack) = (b \in SecondRack)}
  IN /\ replicas # <<>> /\ replicas[1] \in active
     /\ \A i \in DOMAIN replicas :
          /\ replicas[i] \in usable \ before(i)
          /\ i > 1 => TakesTurns(active, usable, SubSeq(replicas, 1, i - 1), replicas[i])
          /\ replicas[i] \in active \/ rack(replicas[i]) \subseteq before(i)

(* The added replicas: the target without the replicas before the running   *)
(* reassignment (R1, R2).                                                   *)
AddingAfter(partition, target) ==
  RangeOf(target) \ (RangeOf(partition.replicas) \ partition.adding)

(* The removed replicas: all present ones that are not in the target (R1,   *)
(* R2).                                                                     *)
RemovingAfter(partition, target) == RangeOf(partition.replicas) \ RangeOf(target)

(* R3.  The ISR that is left is large enough for the replicas that are      *)
(* left, or as large as it was (KAFKA-15665).                               *)
KeepsMinIsr(partition, kept, minIsr) ==
  LET left == RangeOf(partition.replicas) \ partition.removing
  IN Cardinality(kept) >= MinOf(MinOf(minIsr, Cardinality(left)), Cardinality(partition.isr))

(* Whether a reassignment ends with this ISR, after the removed replicas    *)
(* are taken out. It must contain all added ones, and all that stay if more *)
(* are removed than added (R3; KAFKA-19975).                                *)
CompletesReassignment(partition, isr, minIsr) ==
  LET kept == isr \ partition.removing
      target == RangeOf(partition.replicas) \ partition.removing
  IN /\ partition.adding # {} \/ partition.removing # {}
     /\ partition.removing # {} => kept # {}
     /\ partition.adding \subseteq kept
     /\ Cardinality(partition.adding) < Cardinality(partition.removing) => target \subseteq kept
     /\ KeepsMinIsr(partition, kept, minIsr)

(* R4.  Why a reassignment is not given up.  Where nobody of the ISR is     *)
(* left, that would be an unclean election.                                 *)
CancelRefused(partition) ==
  CASE partition.adding = {} /\ partition.removing = {} -> "NO_REASSIGNMENT_IN_PROGRESS"
    [] partition.isr \subseteq partition.adding /\ ~UncleanElection ->
         "INVALID_REPLICA_ASSIGNMENT"
    [] OTHER -> ""

-----------------------------------------------------------------------------
(* What a change makes of the partition: C1, C11, R3, R5.                   *)

(* The controller counts the replicas of the topic's first partition.       *)
EffectiveMinIsr(row) == MinOf(MinIsr(row), Len(row.partitions[1].replicas))

(* R24 (KIP-966, KAFKA-16540).  A change of min.insync.replicas empties the *)
(* ELR: its members are eligible because nothing was committed below the    *)
(* old value.                                                               *)
ClearsEligible(partition) == ElrEnabled

(* C11, R5.  Members that leave an ISR below min ISR stay eligible as long  *)
(* as they are replicas, unless they came back without proof of a clean     *)
(* stop.                                                                    *)
EligibleAfter(partition, replicas, isr, unclean, minIsr) ==
  IF ~ElrEnabled \/ Cardinality(isr) >= minIsr THEN {}
  ELSE (((partition.elr \cup partition.isr) \ isr) \ unclean) \cap RangeOf(replicas)

(* The last leader of a partition without a leader (C11).                   *)
LastLeader(old, new) ==
  CASE ~ElrEnabled \/ new.leader # Nobody -> Nobody
    [] old.leader # Nobody -> old.leader
    [] OTHER -> old.lastKnownLeader

(* R5.  The last known leader is forgotten when it is no replica any more.  *)
LastKnownAfter(old, new) ==
  IF LastLeader(old, new) \in RangeOf(new.replicas) THEN LastLeader(old, new) ELSE Nobody

(* C1, R3.  A leader epoch begins where the leader changes, or a replica    *)
(* leaves, whose late fetches must not count.                               *)
LeaderEpochBumped(old, new) ==
  new.leader # old.leader \/ ~(RangeOf(old.replicas) \subseteq RangeOf(new.replicas))

-----------------------------------------------------------------------------
(* A leader's notes of fetches (P9, R6).                                    *)

(* P9.  Ends that a leader has noted count in the leader epoch in which     *)
(* they were fetched.  A replica that left has begun one (R3), so what was  *)
(* fetched before it came back does not count, although one update of the   *)
(* metadata may tell the leader of both.                                    *)
KeepsEndOffsets(known, partition) == known.leaderEpoch = partition.leaderEpoch

(* A replica that has fetched everything of the leader is in sync (P9).     *)
JoinsIsr(known, b) == known.ends[b] >= known.endOffset

-----------------------------------------------------------------------------
(* Brokers and directories: R15 to R20.                                     *)

IsActive(registration) == registration.state = "Active"

(* C3, R15.  Was the stop before this registration unclean?  Of a broker    *)
(* that is not registered nothing is known.                                 *)
IsUncleanRestart(registration, clean) == ~clean \/ registration.state = "Unregistered"

(* R16.  Where a new replica is: known if the broker has one directory.     *)
DirectoryOfNew(registration) ==
  IF Cardinality(registration.directories) = 1 THEN CHOOSE d \in registration.directories : TRUE
  ELSE Unassigned

(* R17.  Whether a replica's directory is online.                           *)
DirectoryOnline(registration, directory) ==
  directory = Unassigned \/ directory \in registration.directories

(* Of two changes in one batch the second builds on the first (R19).        *)
BaseOfSecond(before, first) == first
=============================================================================
