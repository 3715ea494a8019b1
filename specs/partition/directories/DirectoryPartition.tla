------------------------- MODULE DirectoryPartition -------------------------
(***************************************************************************)
(* A partition whose replicas move, on brokers with several log directories *)
(* that fail (KIP-112, KIP-858), with its records and its controller. Each  *)
(* step is one of MovingPartition. This module replaces some of its         *)
(* operators (`replaces` in reference/partition/directories/protocol.py), and adds    *)
(* two steps of a broker.                                                   *)
(*                                                                          *)
(* No rule is written here.  What a broker makes of a replica whose         *)
(* directory has failed is decided in HostingRules, which see its row as    *)
(* their own (AsHost); what the controller makes of directories is that of  *)
(* the controller of a topic (Reassignments).                               *)
(* Python twin: reference/partition/directories/handlers.py.                          *)
(*                                                                          *)
(* A directory that has failed comes back when the broker starts again, and *)
(* has what it had; the broker's stop was not clean then (R20).  What lies  *)
(* there of a replica that was forgotten meanwhile is gone: it would be     *)
(* stray.                                                                   *)
(*                                                                          *)
(* Left out are replicas that move between directories (R21, see Hosting),  *)
(* a broker that starts without one of its directories, a broker that stops *)
(* because a failure is not noticed, the metadata directory, and the        *)
(* response to AssignReplicasToDirs, which is sent again until the broker   *)
(* reads the change.                                                        *)
(***************************************************************************)
EXTENDS MovingPartition, TLC

CONSTANTS
  Directories,       \* of each broker: numbers above 0
  FirstDirectory     \* where a broker has a replica of this partition, if it may choose

Host == INSTANCE HostingRules WITH Sole <- FALSE

(***************************************************************************)
(* A broker's row has two more fields:                                      *)
(*   online      its directories that have not failed since it started      *)
(*   directory   durable: where its replica is, or Unassigned; the replica  *)
(*               is offline where that has failed                           *)
(* The controller's row has one more:                                       *)
(*   disks       by broker: which directories are registered and have not   *)
(*               failed                                                     *)
(***************************************************************************)
InitialDirectoryPartition ==
  [InitialMovingPartition EXCEPT
     !.directories = [b \in Brokers |->
        IF b \in RangeOf(FirstReplicas) THEN FirstDirectory ELSE Topic!Unassigned]]

InitialDirectoryRow(n) ==
  [online |-> Directories, directory |-> Topic!Unassigned]
  @@ [InitialMovingRow(n) EXCEPT !.image.partition = InitialDirectoryPartition]

InitialDirectoryController ==
  [disks |-> [b \in Brokers |-> [online |-> Directories]]]
  @@ [InitialMovingController EXCEPT !.partition = InitialDirectoryPartition]

-----------------------------------------------------------------------------
(* Brokers: R18, R20, R22.                                                  *)

IsOffline(row) == row.directory # Topic!Unassigned /\ row.directory \notin row.online

Believed(n, row) == row.image.partition.directories[n]

(* The row as a row of Hosting, with one topic: a topic with the name of a  *)
(* deleted one is another partition here.                                   *)
AsHost(n, row) ==
  [image |-> [topicId |-> IF IsThere(row.image.partition) THEN 1 ELSE 0,
              assigned |-> n \in RangeOf(row.image.partition.replicas),
              directory |-> Believed(n, row)],
   replica |-> [state |-> CASE row.directory = Topic!Unassigned -> "None"
                            [] IsOffline(row) -> "Offline"
                            [] OTHER -> "Online",
                topicId |-> IF row.directory = Topic!Unassigned THEN 0 ELSE 1],
   online |-> row.online]

(* Where a replica is made that the controller believes nowhere: the choice *)
(* is the broker's.                                                         *)
FirstOnline(row) ==
  IF FirstDirectory \in row.online THEN FirstDirectory
  ELSE CHOOSE d \in row.online : \A e \in row.online : d <= e

WithoutReplica(row) == [Left(row) EXCEPT !.directory = Topic!Unassigned]

(* The replica is made, empty, or is offline where it cannot be.            *)
Hosted(n, row) ==
  CASE row.directory # Topic!Unassigned /\ ~IsOffline(row) -> row
    [] Host!MayCreate(AsHost(n, row)) ->
         [WithoutReplica(row) EXCEPT
            !.directory = IF Believed(n, row) \in row.online THEN Believed(n, row)
                          ELSE FirstOnline(row)]
    [] row.directory = Topic!Unassigned -> [row EXCEPT !.directory = Believed(n, row)]
    [] OTHER -> row

PublishInDirectory(n, row) ==
  LET partition == row.image.partition
      goes == IsOfDeletedTopic(partition) \/ HasLeft(n, partition)
      hosted == Hosted(n, row)
  IN CASE IsOutdatedPartition(row, partition) -> Outcome(row, {})
       [] goes /\ IsOffline(row) /\ ~Host!ForgetsOffline(AsHost(n, row)) -> Outcome(row, {})
       [] goes -> Outcome(WithoutReplica(row), FailedResponses(n, row))
       [] IsOffline(hosted) -> Outcome(hosted, {})
       [] OTHER -> PublishUnderList(n, hosted)

(* The log stays and is not served; waiting requests get an error. A broker *)
(* whose last directory fails stops (R18).                                  *)
Step_HandleLogDirFailure(n, row, input) ==
  LET failed == [row EXCEPT !.online = @ \ {input.directory}]
      offline == [failed EXCEPT
        !.role = "None", !.leader = Nobody, !.epochStart = Undefined, !.isr = {},
        !.pending = NoPending, !.remotes = NoRemotes, !.parked = {},
        !.lastFetchedEpoch = Undefined, !.replicas = <<>>]
  IN CASE ~IsUp(row) \/ input.directory \notin row.online \/ Cardinality(row.online) = 1 ->
            Disabled
       [] row.directory = input.directory -> Outcome(offline, FailedResponses(n, row))
       [] OTHER -> Outcome(failed, {})

(* Nothing is written where the directory has failed.                       *)
FlushOnline(n, row, input) ==
  IF IsUp(row) /\ row.flushed < EndOffset(row.log) /\ ~IsOffline(row)
  THEN Outcome([row EXCEPT !.flushed = EndOffset(row.log)], {}) ELSE Disabled

CheckpointOnline(n, row, input) ==
  IF IsUp(row) /\ row.checkpoint # row.highWatermark /\ ~IsOffline(row)
  THEN Outcome([row EXCEPT !.checkpoint = row.highWatermark], {}) ELSE Disabled

StoppedInDirectory(row) == [OnDisk(row) EXCEPT !.directory = row.directory]

(* A shutdown is clean if every directory has the marker (P22, R20).        *)
StoppedWithAll(row) ==
  Stopped([row EXCEPT
    !.flushed = IF IsOffline(row) THEN @ ELSE EndOffset(row.log),
    !.checkpoint = IF IsOffline(row) THEN @ ELSE row.highWatermark,
    !.cleanShutdown = IF row.online = Directories THEN row.brokerEpoch ELSE Undefined])

(* A broker reports the directories with which it starts, and from then on  *)
(* all failed ones (R18, R20).                                              *)
RegistrationNaming(n, row) ==
  [type |-> "RegisterBrokerRequest", source |-> n, destination |-> Controller,
   incarnation |-> row.incarnation, previousEpoch |-> row.previousEpoch,
   directories |-> row.online]

HeartbeatNaming(n, row) ==
  [type |-> "HeartbeatRequest", source |-> n, destination |-> Controller,
   brokerEpoch |-> row.brokerEpoch, metadataOffset |-> row.image.offset,
   wantFence |-> row.status = "Starting", wantShutDown |-> row.status = "ShuttingDown",
   failed |-> Directories \ row.online]

(* A broker reports the replica's directory as long as the metadata that it *)
(* has read have another one (R16).                                         *)
Step_HandleSendAssignReplicasToDirs(n, row, input) ==
  LET told == row.directory \in row.online /\ n \in RangeOf(row.image.partition.replicas)
              /\ Believed(n, row) # row.directory
  IN IF row.status # "Running" \/ row.brokerEpoch = Undefined \/ ~told THEN Disabled
     ELSE Outcome(row, {[type |-> "AssignReplicasToDirs", source |-> n,
                         destination |-> Controller, brokerEpoch |-> row.brokerEpoch,
                         directory |-> row.directory]})

-----------------------------------------------------------------------------
(* The controller: R16, R17, R19.                                           *)

OfRowInDirectories(row) ==
  [AsTopic([b \in Brokers |-> State(row.registrations[b])], row.partition) EXCEPT
     !.registrations = [b \in Brokers |->
        [state |-> State(row.registrations[b]), directories |-> row.disks[b].online]]]

(* The partition of a row of that topic.                                    *)
OfTopic(row, topic) == IF topic.partitions = <<>> THEN row.partition ELSE topic.partitions[1]

FencingInDirectories(row, b) == {OfTopic(row, Topic!WithoutBroker(OfRowInDirectories(row), b))}
UnfencingInDirectories(row, b) == {OfTopic(row, Topic!AfterUnfencing(OfRowInDirectories(row), b))}
UncleanInDirectories(row, b) ==
  {OfTopic(row, Topic!AfterUncleanRestart(OfRowInDirectories(row), b))}
AlterationInDirectories(row, isr) ==
  LET topic == OfRowInDirectories(row)
  IN {Topic!ChangeOfIsr(topic, row.partition, isr, {}, Topic!Active(topic))}

(* A valid registration has the broker's directories.                       *)
RegisteredWithDirectories(c, row, m) ==
  {IF o.row.offset = row.offset THEN o
   ELSE [o EXCEPT !.row.disks[m.source].online = m.directories] :
     o \in AnswerRegistration(c, row, m)}

(* The records of a step, with the later ones of its batch.                 *)
AndThen(before, after, sent, more) ==
  LET batches == {m \in sent : m.type = "MetadataRecords"}
      records == (IF batches = {} THEN <<>> ELSE (CHOOSE m \in batches : TRUE).records) \o more
  IN Committed([after EXCEPT !.offset = before.offset], records, sent \ batches)

(* After the other changes of a heartbeat (R19; handleDirectoriesOffline).  *)
(* A stopping broker waits for the end of the batch.                        *)
WithoutFailed(before, o, m) ==
  LET b == m.source
      failed == m.failed \cap before.disks[b].online
      after == o.row
      partition == OfTopic(after,
        Topic!WithoutDirectories(OfRowInDirectories(before), OfRowInDirectories(after), b, failed))
      more == PartitionRecords(after.partition, partition)
              \o <<BrokerRecord(b, after.registrations[b])>>
      stops == after.contacts[b].shutdownOffset # before.contacts[b].shutdownOffset
  IN IF failed = {} \/ IsStaleBrokerEpoch(before.registrations[b], m.brokerEpoch) THEN {o}
     ELSE AndThen(before,
            [after EXCEPT
               !.partition = partition, !.disks[b].online = @ \ failed,
               !.contacts[b].shutdownOffset = IF stops THEN after.offset + Len(more) ELSE @],
            o.sent, more)

HeartbeatInDirectories(c, row, m) ==
  UNION {WithoutFailed(row, o, m) : o \in AnswerHeartbeat(c, row, m)}

Step_HandleAssignReplicasToDirs(c, row, m) ==
  IF IsStaleBrokerEpoch(row.registrations[m.source], m.brokerEpoch)
  THEN Ignore(row, "STALE_BROKER_EPOCH")
  ELSE Decided(row, Topic!Step_HandleAssignDirectory(c, OfRowInDirectories(row),
                      [broker |-> m.source, partition |-> 1, directory |-> m.directory]))
=============================================================================
