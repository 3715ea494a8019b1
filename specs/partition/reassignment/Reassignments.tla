---------------------------- MODULE Reassignments ----------------------------
(***************************************************************************)
(* The controller of a topic whose partitions move: reassignments and their *)
(* cancellation, brokers that come, go and are unregistered, requested      *)
(* elections, failing directories, created and deleted partitions and       *)
(* topics (Kafka's ReplicationControlManager and PartitionChangeBuilder).   *)
(* Twin: reference/partition/reassignment/handlers.py.                                *)
(*                                                                          *)
(* The controller of a partition (PartitionController) chooses the leader   *)
(* under the list of replicas in force after the change.                    *)
(*                                                                          *)
(* Brokers are inputs of the controller: what they ask, and that they are   *)
(* silent.  Each knows the metadata at once (PartitionController has the    *)
(* messages between).  Every step is committed at once.  What is answered   *)
(* is the reason for which an input was ignored.                            *)
(*                                                                          *)
(* Left out: names of topics and all of their configurations but            *)
(* min.insync.replicas, which a leader knows as soon as it is set; more     *)
(* than two racks, moves between directories (R21), the brokers' part of    *)
(* R6, R13, R18, R20, R22.                                                  *)
(***************************************************************************)
EXTENDS ReassignmentRules

Under(Replicas) == INSTANCE PartitionController WITH FetchMaxRecords <- 1

(***************************************************************************)
(* The row.                                                                 *)
(*   registrations   by broker: state ("Unregistered", "Fenced", "Active",  *)
(*                   "Stopping"), directories (those that are online)       *)
(*   topicId         of the topic, 0 when there is none                     *)
(*   topicsMade      number of ids used                                     *)
(*   partitions      those of a partition (PartitionController), and        *)
(*                   replicas, adding, removing, directories (by broker)    *)
(*   targets         by partition: the replicas that were last asked for,   *)
(*                   and accepted; no rule asks for them                    *)
(*   leaders         with LeaderNotes, by partition: what the broker that   *)
(*                   leads knows: broker, leaderEpoch and partitionEpoch of *)
(*                   the metadata that it has applied; endOffset, where its *)
(*                   log ends; ends, by broker where its fetches ended      *)
(*   minIsr          min.insync.replicas as it was set last; 0: as in the   *)
(*                   constants (R24)                                        *)
(***************************************************************************)
Partition(row, replicas) ==
  LET active == {b \in RangeOf(replicas) : IsActive(row.registrations[b])}
      leads(b) == Under(replicas)!LeaderChoices(active) = {b}
  IN [leader |-> CHOOSE b \in active : leads(b), leaderEpoch |-> 0, partitionEpoch |-> 0,
      isr |-> active, elr |-> {}, lastKnownLeader |-> Nobody, recovering |-> FALSE,
      replicas |-> replicas, adding |-> {}, removing |-> {},
      directories |-> [b \in Brokers |-> IF b \in RangeOf(replicas)
                                         THEN DirectoryOfNew(row.registrations[b])
                                         ELSE Unassigned]]

(* Members of a new partition's ISR have everything of the leader.          *)
FirstNotes(partition) ==
  IF ~LeaderNotes THEN <<>>
  ELSE <<[broker |-> partition.leader, leaderEpoch |-> 0, partitionEpoch |-> 0, endOffset |-> 0,
          ends |-> [b \in Brokers |-> IF b \in partition.isr THEN 0 ELSE Undefined]]>>

(* All are registered and unfenced, and one topic has one partition.        *)
InitialRow(c) ==
  LET brokers == [b \in Brokers |-> [state |-> "Active", directories |-> Directories]]
      first == Partition([registrations |-> brokers], FirstReplicas)
  IN [registrations |-> brokers, topicId |-> 1, topicsMade |-> 1, partitions |-> <<first>>,
      targets |-> <<[replicas |-> FirstReplicas]>>, leaders |-> FirstNotes(first),
      minIsr |-> 0]

Made(row) == {[row |-> row, sent |-> {}, ignored |-> ""]}
Refused(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

-----------------------------------------------------------------------------
(* One change of a partition (C7, R3, R5; PartitionChangeBuilder). `old` is *)
(* the present state, `asked` the same with the requested lists, `isr` the  *)
(* proposed ISR, `unclean` the brokers that came back without proof of a    *)
(* clean shutdown, `acceptable` the brokers that may lead.                  *)

Bumped(old, new) ==
  IF new = old THEN old
  ELSE [new EXCEPT
          !.partitionEpoch = old.partitionEpoch + 1,
          !.leaderEpoch = IF LeaderEpochBumped(old, new) THEN old.leaderEpoch + 1
                          ELSE old.leaderEpoch]

(* The list without those that go.                                          *)
Completed(partition) ==
  [partition EXCEPT
     !.replicas = Without(@, partition.removing), !.adding = {}, !.removing = {},
     !.directories = [b \in Brokers |-> IF b \in partition.removing THEN Unassigned ELSE @[b]]]

Change(row, old, asked, isr, unclean, acceptable, election) ==
  LET minIsr == EffectiveMinIsr(row)
      completes == CompletesReassignment(asked, isr, minIsr)
      listed == IF completes THEN Completed(asked) ELSE asked
      kept == IF completes THEN isr \ asked.removing ELSE isr
      eligible == EligibleAfter(listed, listed.replicas, kept, unclean, minIsr)
      may == {b \in acceptable \cap RangeOf(listed.replicas) :
                DirectoryOnline(row.registrations[b], listed.directories[b])}
      chosen == CHOOSE c \in Under(listed.replicas)!Chosen(listed, kept, eligible, may, election) :
                  TRUE
  IN Bumped(old, [chosen EXCEPT !.lastKnownLeader = LastKnownAfter(old, chosen)])

Active(row) == {b \in Brokers : IsActive(row.registrations[b])}

Election == IF UncleanElection THEN "UNCLEAN" ELSE "ONLINE"

(* A change with the present lists.                                         *)
ChangeOfIsr(row, old, isr, unclean, acceptable) ==
  Change(row, old, old, isr, unclean, acceptable, Election)

WithPartition(row, i, partition) == [row EXCEPT !.partitions[i] = partition]

-----------------------------------------------------------------------------
(* Brokers that come and go: C6, R14, R15.  All partitions are changed as   *)
(* they were before.                                                        *)

WithoutBroker(row, b) ==
  [row EXCEPT !.partitions = [i \in DOMAIN @ |->
     IF b \notin @[i].isr THEN @[i]
     ELSE ChangeOfIsr(row, @[i], @[i].isr \ {b}, {}, Active(row) \ {b})]]

AfterUncleanRestart(row, b) ==
  [row EXCEPT !.partitions = [i \in DOMAIN @ |->
     IF b \notin @[i].isr \cup @[i].elr THEN @[i]
     ELSE ChangeOfIsr(row, @[i], @[i].isr \ {b}, {b}, Active(row) \ {b})]]

AfterUnfencing(row, b) ==
  [row EXCEPT !.partitions = [i \in DOMAIN @ |->
     IF @[i].leader # Nobody THEN @[i]
     ELSE ChangeOfIsr(row, @[i], @[i].isr, {}, Active(row) \cup {b})]]

WithState(row, b, state) == [row EXCEPT !.registrations[b].state = state]

Step_HandleRegisterBroker(c, row, input) ==
  LET b == input.broker
      known == row.registrations[b]
      after == IF IsUncleanRestart(known, input.clean) THEN AfterUncleanRestart(row, b)
               ELSE WithoutBroker(row, b)
  IN IF known.state \in {"Active", "Stopping"} THEN Refused(row, "DUPLICATE_BROKER_REGISTRATION")
     ELSE Made([after EXCEPT !.registrations[b] =
                  [state |-> "Fenced", directories |-> input.directories]])

(* A session that expires, or a broker that requests to be fenced.          *)
Step_HandleFenceBroker(c, row, input) ==
  IF row.registrations[input.broker].state \notin {"Active", "Stopping"} THEN Disabled
  ELSE Made(WithState(WithoutBroker(row, input.broker), input.broker, "Fenced"))

Step_HandleShutDownBroker(c, row, input) ==
  IF row.registrations[input.broker].state # "Active" THEN Disabled
  ELSE Made(WithState(WithoutBroker(row, input.broker), input.broker, "Stopping"))

(* The broker stays in the ELR or enters it. A broker that registers        *)
(* without an earlier registration has no proof of a clean shutdown (R15).  *)
Step_HandleUnregisterBroker(c, row, input) ==
  LET b == input.broker
      gone == [state |-> "Unregistered", directories |-> {}]
  IN IF row.registrations[b].state = "Unregistered" THEN Refused(row, "BROKER_ID_NOT_REGISTERED")
     ELSE Made([WithoutBroker(row, b) EXCEPT !.registrations[b] = gone])

-----------------------------------------------------------------------------
(* Directories: R16, R17, R19.                                              *)

(* What is written over `first` of a change of `base` to `second`.          *)
Over(base, first, second) ==
  IF second = base THEN first
  ELSE [field \in DOMAIN second |->
          CASE field = "partitionEpoch" -> first.partitionEpoch + 1
            [] field = "leaderEpoch" ->
                 first.leaderEpoch + second.leaderEpoch - base.leaderEpoch
            [] second[field] = base[field] -> first[field]
            [] OTHER -> second[field]]

(* Replicas in these directories leave the ISR and do not lead.  `before`   *)
(* is the row before the batch, `row` after what the batch has so far.      *)
WithoutDirectories(before, row, b, failed) ==
  LET based == BaseOfSecond(before, row)
      second(p) == IF p.directories[b] \notin failed THEN p
                   ELSE ChangeOfIsr(based, p, p.isr \ {b}, {}, Active(based) \ {b})
  IN [row EXCEPT
        !.registrations[b].directories = @ \ failed,
        !.partitions = [i \in DOMAIN @ |->
           Over(based.partitions[i], @[i], second(based.partitions[i]))]]

(* A heartbeat that lets a broker be unfenced may name directories that     *)
(* have failed.                                                             *)
Step_HandleUnfenceBroker(c, row, input) ==
  LET b == input.broker
      unfenced == WithState(AfterUnfencing(row, b), b, "Active")
  IN IF row.registrations[b].state # "Fenced" THEN Disabled
     ELSE Made(WithoutDirectories(row, unfenced, b, input.failed))

Step_HandleDirectoryFailure(c, row, input) ==
  LET b == input.broker
  IN IF input.directory \notin row.registrations[b].directories THEN Disabled
     ELSE Made(WithoutDirectories(row, row, b, {input.directory}))

(* A broker reports the directory of its replica.                           *)
Step_HandleAssignDirectory(c, row, input) ==
  LET b == input.broker
      old == row.partitions[input.partition]
      asked == [old EXCEPT !.directories[b] = input.directory]
      online == DirectoryOnline(row.registrations[b], input.directory)
  IN CASE row.registrations[b].state = "Unregistered" ->
            Refused(row, "BROKER_ID_NOT_REGISTERED")
       [] input.partition \notin DOMAIN row.partitions ->
            Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
       [] b \notin RangeOf(old.replicas) -> Refused(row, "NOT_LEADER_OR_FOLLOWER")
       [] OTHER -> Made(WithPartition(row, input.partition,
            Change(row, old, asked, IF online THEN old.isr ELSE old.isr \ {b}, {}, Active(row),
                   Election)))

-----------------------------------------------------------------------------
(* AlterPartition: C12, C13, R7.                                            *)

AlterPartitionError(row, partition, input) ==
  LET under == Under(partition.replicas)!LeaderEpochError(partition, input)
      cas == Under(partition.replicas)!PartitionEpochError(partition, input)
  IN CASE under # "NONE" -> under
       [] input.source # partition.leader -> "INVALID_REQUEST"
       [] cas # "NONE" -> cas
       [] input.source \notin input.isr -> "INVALID_REQUEST"
       [] ~(input.isr \subseteq RangeOf(partition.replicas)) -> "INVALID_REQUEST"
       [] ~(input.isr \subseteq Active(row)) -> "INELIGIBLE_REPLICA"
       [] OTHER -> "NONE"

Step_HandleAlterPartition(c, row, input) ==
  LET i == input.partition
      old == row.partitions[i]
      recovered == [old EXCEPT !.recovering = FALSE]
  IN CASE i \notin DOMAIN row.partitions -> Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
       [] AlterPartitionError(row, old, input) # "NONE" ->
            Refused(row, AlterPartitionError(row, old, input))
       [] OTHER ->
            LET new == Change(row, old, recovered, input.isr, {}, Active(row), Election)
            IN {[row |-> WithPartition(row, i, new), sent |-> {},
                 ignored |-> IF new.leader = input.source THEN ""
                             ELSE "NEW_LEADER_ELECTED"]}

-----------------------------------------------------------------------------
(* The leading broker with its notes (P9, R6).                              *)

Led(row, i) == LeaderNotes /\ i \in DOMAIN row.partitions /\ row.partitions[i].leader # Nobody

(* The leader has applied the newest metadata of the partition.             *)
UpToDate(row, i) ==
  LET p == row.partitions[i]
      known == row.leaders[i]
  IN /\ known.broker = p.leader /\ known.leaderEpoch = p.leaderEpoch
     /\ known.partitionEpoch = p.partitionEpoch

(* Any number of changes are one update to it. Brokers that are no replicas *)
(* are forgotten.                                                           *)
Step_HandleMetadataUpdate(c, row, input) ==
  LET i == input.partition
      p == row.partitions[i]
      known == row.leaders[i]
      keeps == known.broker = p.leader /\ KeepsEndOffsets(known, p)
  IN IF ~Led(row, i) \/ UpToDate(row, i) THEN Disabled
     ELSE Made([row EXCEPT !.leaders[i] =
            [known EXCEPT !.broker = p.leader, !.leaderEpoch = p.leaderEpoch,
                          !.partitionEpoch = p.partitionEpoch,
                          !.ends = [b \in Brokers |-> IF keeps /\ b \in RangeOf(p.replicas)
                                                     THEN @[b] ELSE Undefined]]])

(* A record that all in the ISR have is acknowledged.                       *)
Step_HandleProduce(c, row, input) ==
  LET i == input.partition
      p == row.partitions[i]
      end == row.leaders[i].endOffset + 1
  IN IF ~Led(row, i) \/ ~UpToDate(row, i) THEN Disabled
     ELSE IF Cardinality(p.isr) < MinOf(MinIsr(row), Len(p.replicas))
          THEN Refused(row, "NOT_ENOUGH_REPLICAS")
     ELSE Made([row EXCEPT
            !.leaders[i].endOffset = end,
            !.leaders[i].ends = [b \in Brokers |-> IF b \in p.isr THEN end ELSE @[b]]])

(* A replica has copied all that the leader has.                            *)
Step_HandleReplicaFetch(c, row, input) ==
  LET i == input.partition
      others == RangeOf(row.partitions[i].replicas) \ {row.partitions[i].leader}
  IN IF ~Led(row, i) \/ ~UpToDate(row, i) THEN Disabled
     ELSE IF input.broker \notin others THEN Disabled
     ELSE Made([row EXCEPT !.leaders[i].ends[input.broker] = row.leaders[i].endOffset])

(* The leader proposes that a replica joins the ISR.                        *)
Step_HandleSendAlterPartition(c, row, input) ==
  LET i == input.partition
      p == row.partitions[i]
  IN IF ~Led(row, i) \/ ~UpToDate(row, i) THEN Disabled
     ELSE IF input.broker \in p.isr \/ ~JoinsIsr(row.leaders[i], input.broker) THEN Disabled
     ELSE Step_HandleAlterPartition(c, row,
            [partition |-> i, source |-> p.leader, isr |-> p.isr \cup {input.broker},
             leaderEpoch |-> p.leaderEpoch, partitionEpoch |-> p.partitionEpoch])

-----------------------------------------------------------------------------
(* Requests of an administrator (R1, R2, R4, R8, R10 to R12).               *)

Lists(row, partition, replicas, adding, removing) ==
  [partition EXCEPT
     !.replicas = replicas, !.adding = adding, !.removing = removing,
     !.directories = [b \in Brokers |->
        CASE b \notin RangeOf(replicas) -> Unassigned
          [] b \in RangeOf(partition.replicas) -> partition.directories[b]
          [] OTHER -> DirectoryOfNew(row.registrations[b])]]

Step_HandleReassign(c, row, input) ==
  LET i == input.partition
      old == row.partitions[i]
      replicas == input.target \o Without(old.replicas, RangeOf(input.target))
      asked == Lists(row, old, replicas, AddingAfter(old, input.target),
                     RemovingAfter(old, input.target))
  IN CASE i \notin DOMAIN row.partitions -> Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
       [] PlacementRefused(row, input.target) # "" ->
            Refused(row, PlacementRefused(row, input.target))
       [] OTHER ->
            Made([WithPartition(row, i,
                    Change(row, old, asked, old.isr, {}, Active(row), "ONLINE"))
                  EXCEPT !.targets[i].replicas = input.target])

Step_HandleCancelReassignment(c, row, input) ==
  LET i == input.partition
      old == row.partitions[i]
      replicas == Without(old.replicas, old.adding)
      kept == old.isr \ old.adding
      asked == Lists(row, old, replicas, {}, {})
  IN CASE i \notin DOMAIN row.partitions -> Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
       [] CancelRefused(old) # "" -> Refused(row, CancelRefused(old))
       [] OTHER ->
            Made([WithPartition(row, i,
                    Change(row, old, asked, IF kept = {} THEN {replicas[1]} ELSE kept, {},
                           Active(row), Election))
                  EXCEPT !.targets[i].replicas = replicas])

Step_HandleElectPartitionLeader(c, row, input) ==
  LET i == input.partition
      old == row.partitions[i]
      needed == IF input.election = "PREFERRED" THEN old.leader # old.replicas[1]
                ELSE old.leader = Nobody
      new == Change(row, old, old, old.isr, {}, Active(row), input.election)
  IN CASE i \notin DOMAIN row.partitions -> Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
       [] ~needed -> Refused(row, "ELECTION_NOT_NEEDED")
       [] new = old -> Refused(row, IF input.election = "PREFERRED"
                                    THEN "PREFERRED_LEADER_NOT_AVAILABLE"
                                    ELSE "ELIGIBLE_LEADERS_NOT_AVAILABLE")
       [] OTHER -> Made(WithPartition(row, i, new))

(* Active replicas are in the ISR at once (R10, R11).                       *)
NewPartition(row, replicas) ==
  CASE PlacementRefused(row, replicas) # "" -> PlacementRefused(row, replicas)
    [] RangeOf(replicas) \cap Active(row) = {} -> "INVALID_REPLICA_ASSIGNMENT"
    [] OTHER -> ""

Added(row, replicas) ==
  [row EXCEPT !.partitions = Append(@, Partition(row, replicas)),
              !.targets = Append(@, [replicas |-> replicas]),
              !.leaders = @ \o FirstNotes(Partition(row, replicas))]

Step_HandleCreateTopic(c, row, input) ==
  CASE row.topicId # 0 -> Refused(row, "TOPIC_ALREADY_EXISTS")
    [] NewPartition(row, input.replicas) # "" -> Refused(row, NewPartition(row, input.replicas))
    [] OTHER -> Made(Added([row EXCEPT !.topicsMade = @ + 1, !.topicId = row.topicsMade + 1],
                           input.replicas))

Step_HandleCreatePartition(c, row, input) ==
  CASE row.topicId = 0 -> Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
    [] Len(input.replicas) # Len(row.partitions[1].replicas) ->
         Refused(row, "INVALID_REPLICA_ASSIGNMENT")
    [] NewPartition(row, input.replicas) # "" -> Refused(row, NewPartition(row, input.replicas))
    [] OTHER -> Made(Added(row, input.replicas))

(* R9.  As without a list: what the placer chooses comes with the input.    *)
Step_HandlePlaceTopic(c, row, input) ==
  IF ~PlacerChooses(row, input.replicas) THEN Disabled ELSE Step_HandleCreateTopic(c, row, input)

Step_HandlePlacePartition(c, row, input) ==
  IF ~PlacerChooses(row, input.replicas) THEN Disabled
  ELSE Step_HandleCreatePartition(c, row, input)

Step_HandleDeleteTopic(c, row, input) ==
  IF row.topicId = 0 THEN Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
  ELSE Made([row EXCEPT !.topicId = 0, !.partitions = <<>>, !.targets = <<>>,
                           !.leaders = <<>>, !.minIsr = 0])

(* The change is in one batch with the emptied ELRs, and elects nobody. An  *)
(* unchanged value writes nothing (R24).                                    *)
Step_HandleChangeMinIsr(c, row, input) ==
  LET cleared(p) == Bumped(p, [p EXCEPT !.elr = {}, !.lastKnownLeader = Nobody])
  IN IF row.topicId = 0 THEN Refused(row, "UNKNOWN_TOPIC_OR_PARTITION")
     ELSE IF input.minIsr = MinIsr(row) THEN Made(row)
     ELSE Made([row EXCEPT
            !.minIsr = input.minIsr,
            !.partitions = [i \in DOMAIN @ |->
               IF ClearsEligible(@[i]) THEN cleared(@[i]) ELSE @[i]]])
=============================================================================
