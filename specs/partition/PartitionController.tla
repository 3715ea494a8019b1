------------------------ MODULE PartitionController -------------------------
(***************************************************************************)
(* The controller's side of one partition: registration with broker epochs, *)
(* heartbeats and fencing, unclean-restart detection, leader election,      *)
(* AlterPartition, eligible leader replicas (C1 to C13; Kafka's             *)
(* ClusterControlManager, BrokerHeartbeatManager, ReplicationControlManager *)
(* and PartitionChangeBuilder).  Twin: reference/partition/controller.py.   *)
(*                                                                          *)
(* This controller commits at once: what a step decides is sent to the      *)
(* MetadataLog, and is committed there; the reply goes out with it.  The    *)
(* real one replies after the quorum has committed (C0); a recorded run of  *)
(* it is a run of this one if each committed batch is a step from the       *)
(* replay of what precedes it, and each reply is that batch's.              *)
(*                                                                          *)
(* Left out: topics other than one, directories; for reassignment see       *)
(* specs/partition/reassignment.  One that was deposed: DeposedController.            *)
(***************************************************************************)
EXTENDS PartitionRow

(***************************************************************************)
(* The row.                                                                 *)
(*   registrations   by broker: epoch, incarnation, recordOffset, fenced,   *)
(*                   stopping                                               *)
(*   partition       leader, leaderEpoch, partitionEpoch, isr, elr,         *)
(*                   lastKnownLeader, recovering                            *)
(*   offset          the end of the metadata log                            *)
(*   contacts        soft state, by broker: live (its session), the         *)
(*                   metadataOffset it last named, shutdownOffset           *)
(***************************************************************************)
InitialController ==
  [registrations |-> [b \in Brokers |->
     [epoch |-> 0, incarnation |-> 0, recordOffset |-> 0, fenced |-> FALSE,
      stopping |-> FALSE]],
   partition |-> InitialPartition,
   offset |-> InitialOffset,
   contacts |-> [b \in Brokers |->
     [live |-> TRUE, metadataOffset |-> InitialOffset, shutdownOffset |-> Undefined]]]

Active(row) == {b \in Brokers : IsActive(row.registrations[b])}

-----------------------------------------------------------------------------
(* Records, replies, outcomes.                                              *)

BrokerRecord(b, registration) ==
  [kind |-> "Broker", broker |-> b,
   registration |-> [epoch |-> registration.epoch, fenced |-> registration.fenced,
                     stopping |-> registration.stopping]]

PartitionRecord(partition) == [kind |-> "Partition", partition |-> partition]

(* Nothing is written where nothing changed.                                *)
PartitionRecords(old, new) == IF new = old THEN <<>> ELSE <<PartitionRecord(new)>>

(* Written, committed, answered.                                            *)
Committed(row, records, replies) ==
  IF records = <<>> THEN Outcome(row, replies)
  ELSE Outcome([row EXCEPT !.offset = @ + Len(records)],
               replies \cup {[type |-> "MetadataRecords", source |-> Controller,
                              destination |-> MetadataLog, offset |-> row.offset,
                              records |-> records]})

-----------------------------------------------------------------------------
(* One change of the partition (C7). `isr` is the proposed ISR, `unclean`   *)
(* are the brokers that came back without proof of a clean shutdown,        *)
(* `acceptable` are the brokers that may lead.                              *)

Bumped(old, new) ==
  IF new = old THEN old
  ELSE [new EXCEPT
          !.partitionEpoch = @ + 1,
          !.leaderEpoch = IF LeaderEpochBumped(old, new.leader) THEN @ + 1 ELSE @]

(* The brokers that may be elected, in Kafka's order of preference (C9).    *)
CleanChoices(partition, valid, election) ==
  CASE election = "PREFERRED" /\ PreferredChoices(partition, valid) # {} ->
         PreferredChoices(partition, valid)
    [] partition.leader \in valid -> {partition.leader}
    [] OTHER -> LeaderChoices(valid)

UncleanChoices(partition, isr, elr, acceptable, election) ==
  CASE LastKnownLeaderElectable(partition, isr, elr, acceptable) ->
         {partition.lastKnownLeader}
    [] election = "UNCLEAN" -> LeaderChoices(acceptable)
    [] OTHER -> {}

(* The ISR and ELR that come with the chosen leader.                        *)
Elected(partition, isr, elr, leader, unclean) ==
  CASE unclean ->
         [partition EXCEPT !.leader = leader, !.isr = {leader}, !.elr = {},
                           !.recovering = TRUE]
    [] leader # partition.leader /\ leader \in elr ->
         [partition EXCEPT !.leader = leader, !.isr = {leader}, !.elr = elr \ {leader}]
    [] OTHER ->
         [partition EXCEPT !.leader = leader, !.elr = elr,
                           !.isr = IF isr = {} THEN IsrWhenEmptied(partition) ELSE isr]

(* The leader when the ISR became empty (C11).                              *)
WithLastKnownLeader(old, new) ==
  CASE ElrEnabled /\ new.isr = {} /\ old.isr # {} -> [new EXCEPT !.lastKnownLeader = old.leader]
    [] new.leader # Nobody -> [new EXCEPT !.lastKnownLeader = Nobody]
    [] OTHER -> new

(* The leader with its ISR and ELR; epochs are unchanged.                   *)
Chosen(partition, isr, elr, acceptable, election) ==
  LET clean == CleanChoices(partition, ValidLeaders(isr, elr, acceptable), election)
      dirty == IF clean # {} THEN {}
               ELSE UncleanChoices(partition, isr, elr, acceptable, election)
      result(leader, wasUnclean) ==
        WithLastKnownLeader(partition, Elected(partition, isr, elr, leader, wasUnclean))
  IN CASE clean # {} -> {result(leader, FALSE) : leader \in clean}
       [] dirty # {} ->
            {result(leader, leader # partition.leader) : leader \in dirty}
       [] OTHER -> {result(Nobody, FALSE)}

Changes(partition, isr, unclean, acceptable, election) ==
  {Bumped(partition, chosen) :
     chosen \in Chosen(partition, isr, TargetElr(partition, isr, unclean), acceptable, election)}

Election == IF UncleanElection THEN "UNCLEAN" ELSE "ONLINE"

-----------------------------------------------------------------------------
(* C6.  What happens to the partition when a broker comes or goes.          *)

AfterFencing(row, b) ==
  IF b \notin row.partition.isr THEN {row.partition}
  ELSE Changes(row.partition, row.partition.isr \ {b}, {}, Active(row) \ {b}, Election)

AfterUnfencing(row, b) ==
  IF row.partition.leader # Nobody THEN {row.partition}
  ELSE Changes(row.partition, row.partition.isr, {}, Active(row) \cup {b}, Election)

AfterUncleanRestart(row, b) ==
  IF b \notin row.partition.isr \cup row.partition.elr THEN {row.partition}
  ELSE Changes(row.partition, row.partition.isr \ {b}, {b}, Active(row) \ {b}, Election)

Fence(row, b, contact, replies) ==
  UNION {LET fenced == [row.registrations[b] EXCEPT !.fenced = TRUE]
         IN Committed([row EXCEPT !.partition = partition, !.registrations[b] = fenced,
                                  !.contacts[b] = contact],
              PartitionRecords(row.partition, partition) \o <<BrokerRecord(b, fenced)>>,
              replies) :
         partition \in AfterFencing(row, b)}

Unfence(row, b, contact, replies) ==
  UNION {LET unfenced == [row.registrations[b] EXCEPT !.fenced = FALSE]
         IN Committed([row EXCEPT !.partition = partition, !.registrations[b] = unfenced,
                                  !.contacts[b] = contact],
              <<BrokerRecord(b, unfenced)>> \o PartitionRecords(row.partition, partition),
              replies) :
         partition \in AfterUnfencing(row, b)}

EnterControlledShutdown(row, b, contact, replies) ==
  UNION {LET stopping == [row.registrations[b] EXCEPT !.stopping = TRUE]
             records == <<BrokerRecord(b, stopping)>>
                          \o PartitionRecords(row.partition, partition)
             noted == [contact EXCEPT !.shutdownOffset = row.offset + Len(records)]
         IN Committed([row EXCEPT !.partition = partition, !.registrations[b] = stopping,
                                  !.contacts[b] = noted], records, replies) :
         partition \in AfterFencing(row, b)}

-----------------------------------------------------------------------------
(* Registration: C2, C3.                                                    *)

RegisterBrokerResponse(m, error, brokerEpoch) ==
  [type |-> "RegisterBrokerResponse", source |-> Controller, destination |-> m.source,
   request |-> m, error |-> error, brokerEpoch |-> brokerEpoch]

(* The epoch of a new incarnation is where its batch begins in the log.     *)
RegisterAnew(row, m) ==
  LET b == m.source
      old == row.registrations[b]
      after == IF IsUncleanRestart(old, m) THEN AfterUncleanRestart(row, b)
               ELSE {row.partition}
  IN UNION {LET change == PartitionRecords(row.partition, partition)
                new == [epoch |-> row.offset, incarnation |-> m.incarnation,
                        recordOffset |-> row.offset + Len(change),
                        fenced |-> TRUE, stopping |-> FALSE]
            IN Committed(
                 [row EXCEPT !.partition = partition, !.registrations[b] = new,
                             !.contacts[b] = [live |-> TRUE, metadataOffset |-> Undefined,
                                              shutdownOffset |-> Undefined]],
                 change \o <<BrokerRecord(b, new)>>,
                 {RegisterBrokerResponse(m, "NONE", new.epoch)}) :
            partition \in after}

(* A retry of the same incarnation keeps its epoch and flags.               *)
AmendRegistration(row, m) ==
  LET b == m.source
      amended == [row.registrations[b] EXCEPT !.recordOffset = row.offset]
  IN Committed([row EXCEPT !.registrations[b] = amended, !.contacts[b].live = TRUE],
       <<BrokerRecord(b, amended)>>, {RegisterBrokerResponse(m, "NONE", amended.epoch)})

AnswerRegistration(c, row, m) ==
  LET registration == row.registrations[m.source]
  IN CASE IsDuplicateRegistration(registration, row.contacts[m.source], m) ->
            Outcome(row, {RegisterBrokerResponse(m, "DUPLICATE_BROKER_REGISTRATION",
                                                 Undefined)})
       [] registration.epoch # Undefined /\ registration.incarnation = m.incarnation ->
            AmendRegistration(row, m)
       [] OTHER -> RegisterAnew(row, m)

(* ACTION HandleRegisterBrokerRequest                                       *)
(* WHO    the controller                                                    *)
(* WHAT   It gives a new incarnation a new broker epoch, fenced. A retry    *)
(*        keeps its epoch. After an unclean shutdown the broker leaves the  *)
(*        ISR and the ELR (C2, C3).                                         *)
Step_HandleRegisterBrokerRequest(c, row, m) == AnswerRegistration(c, row, m)

-----------------------------------------------------------------------------
(* Heartbeats and sessions: C4 to C6.                                       *)

HeartbeatResponse(m, error, isCaughtUp, isFenced, shouldShutDown) ==
  [type |-> "HeartbeatResponse", source |-> Controller, destination |-> m.source,
   request |-> m, error |-> error, isCaughtUp |-> isCaughtUp, isFenced |-> isFenced,
   shouldShutDown |-> shouldShutDown]

NextControlState(row, m) ==
  LET b == m.source
      registration == row.registrations[b]
      leads == row.partition.leader = b
  IN CASE registration.fenced /\ m.wantShutDown -> "SHUTDOWN_NOW"
       [] registration.fenced /\ ~m.wantFence /\ IsCaughtUpWithRegistration(registration, m) ->
            "UNFENCED"
       [] registration.fenced -> "FENCED"
       [] registration.stopping ->
            IF ~leads /\ MayShutDown(row.contacts, Active(row), b)
            THEN "SHUTDOWN_NOW" ELSE "CONTROLLED_SHUTDOWN"
       [] m.wantFence -> IF m.wantShutDown THEN "SHUTDOWN_NOW" ELSE "FENCED"
       [] m.wantShutDown -> IF leads THEN "CONTROLLED_SHUTDOWN" ELSE "SHUTDOWN_NOW"
       [] OTHER -> "UNFENCED"

AnswerHeartbeat(c, row, m) ==
  LET b == m.source
      registration == row.registrations[b]
      next == NextControlState(row, m)
      contact == [row.contacts[b] EXCEPT !.live = TRUE, !.metadataOffset = m.metadataOffset]
      reply == {HeartbeatResponse(m, "NONE", IsCaughtUpWithRegistration(registration, m),
                                  next \in {"FENCED", "SHUTDOWN_NOW"},
                                  next = "SHUTDOWN_NOW")}
  IN CASE IsStaleBrokerEpoch(registration, m.brokerEpoch) ->
            Outcome(row, {HeartbeatResponse(m, "STALE_BROKER_EPOCH", FALSE, FALSE, FALSE)})
       [] next \in {"FENCED", "SHUTDOWN_NOW"} /\ ~registration.fenced ->
            Fence(row, b, contact, reply)
       [] next = "UNFENCED" /\ registration.fenced -> Unfence(row, b, contact, reply)
       [] next = "CONTROLLED_SHUTDOWN" /\ ~registration.stopping ->
            EnterControlledShutdown(row, b, contact, reply)
       [] OTHER -> Outcome([row EXCEPT !.contacts[b] = contact], reply)

(* ACTION HandleHeartbeatRequest                                            *)
(* WHO    the controller                                                    *)
(* WHAT   It renews the session, and fences, unfences, or lets stop the     *)
(*        broker, with the change of the partition that follows (C4 to C6). *)
Step_HandleHeartbeatRequest(c, row, m) == AnswerHeartbeat(c, row, m)

(* ACTION HandleSessionTimeout                                              *)
(* WHO    the controller                                                    *)
(* WHAT   broker.session.timeout.ms has passed without a heartbeat. The     *)
(*        broker is fenced and leaves the ISR (C6).                         *)
Step_HandleSessionTimeout(c, row, input) ==
  LET b == input.broker
      silent == [row.contacts[b] EXCEPT !.live = FALSE]
  IN CASE ~row.contacts[b].live \/ row.registrations[b].epoch = Undefined -> Disabled
       [] row.registrations[b].fenced -> Outcome([row EXCEPT !.contacts[b] = silent], {})
       [] OTHER -> Fence(row, b, silent, {})

-----------------------------------------------------------------------------
(* AlterPartition: C4, C12, C13.                                            *)

AlterPartitionResponse(m, error, partition) ==
  [type |-> "AlterPartitionResponse", source |-> Controller, destination |-> m.source,
   request |-> m, error |-> error, leader |-> partition.leader,
   leaderEpoch |-> partition.leaderEpoch, partitionEpoch |-> partition.partitionEpoch,
   isr |-> partition.isr]

Members(m) == {member.broker : member \in m.isr}

MembersEligible(row, m) ==
  \A member \in m.isr :
    /\ IsrMemberActive(row.registrations[member.broker])
    /\ IsrMemberEpochMatches(row.registrations[member.broker], member)

AlterPartitionError(row, m) ==
  LET partition == row.partition
      epochError == LeaderEpochError(partition, m)
      casError == PartitionEpochError(partition, m)
  IN CASE epochError = "NOT_CONTROLLER" \/ casError = "NOT_CONTROLLER" -> "NOT_CONTROLLER"
       [] epochError # "NONE" -> epochError
       [] m.source # partition.leader -> "INVALID_REQUEST"
       [] casError # "NONE" -> casError
       [] m.source \notin Members(m) \/ ~(Members(m) \subseteq Brokers) -> "INVALID_REQUEST"
       [] m.recovering /\ (Cardinality(Members(m)) > 1 \/ ~partition.recovering) ->
            "INVALID_REQUEST"
       [] ~MembersEligible(row, m) -> "INELIGIBLE_REPLICA"
       [] OTHER -> "NONE"

Unchanged == [leader |-> Undefined, leaderEpoch |-> Undefined, partitionEpoch |-> Undefined,
              isr |-> {}]

AfterAlteration(row, isr) == Changes(row.partition, isr, {}, Active(row), Election)

(* ACTION HandleAlterPartitionRequest                                       *)
(* WHO    the controller                                                    *)
(* WHAT   It checks the leader's proposal, and commits it as the new ISR    *)
(*        (C4, C12, C13).                                                   *)
Step_HandleAlterPartitionRequest(c, row, m) ==
  LET error == AlterPartitionError(row, m)
      recovered == [row.partition EXCEPT !.recovering = m.recovering]
      changes == AfterAlteration(row, Members(m))
      altered(partition) ==
        \* The recovery state is part of the same record (C13).
        IF partition.recovering = m.recovering THEN partition
        ELSE IF partition = row.partition THEN Bumped(row.partition, recovered)
        ELSE [partition EXCEPT !.recovering = m.recovering]
  IN CASE IsStaleBrokerEpoch(row.registrations[m.source], m.brokerEpoch) ->
            Outcome(row, {AlterPartitionResponse(m, "STALE_BROKER_EPOCH", Unchanged)})
       [] error # "NONE" -> Outcome(row, {AlterPartitionResponse(m, error, Unchanged)})
       [] OTHER ->
            UNION {LET partition == altered(change)
                   IN Committed([row EXCEPT !.partition = partition],
                        PartitionRecords(row.partition, partition),
                        {AlterPartitionResponse(m,
                           IF partition.leader = m.source THEN "NONE"
                           ELSE "NEW_LEADER_ELECTED",
                           IF partition.leader = m.source THEN partition ELSE Unchanged)}) :
                   change \in changes}

-----------------------------------------------------------------------------
(* Elections requested by an administrator or the leader balancer.          *)

(* ACTION HandleElectLeaders                                                *)
(* WHO    the controller                                                    *)
(* WHAT   An administrator, or the leader balancer, requests a preferred or *)
(*        an unclean election (C9).                                         *)
Step_HandleElectLeaders(c, row, input) ==
  LET partition == row.partition
      unneeded == \/ input.election = "PREFERRED" /\ partition.leader = PreferredReplica
                  \/ input.election = "UNCLEAN" /\ partition.leader # Nobody
      changes == Changes(partition, partition.isr, {}, Active(row), input.election)
  IN IF unneeded THEN Ignore(row, "ELECTION_NOT_NEEDED")
     ELSE UNION {Committed([row EXCEPT !.partition = changed],
                           PartitionRecords(partition, changed), {}) : changed \in changes}

(* ACTION HandleControllerFailover                                          *)
(* WHO    a new controller                                                  *)
(* WHAT   It takes over with what is committed. No session has expired yet, *)
(*        and it has no contact with a broker (C0).                         *)
Step_HandleControllerFailover(c, row, input) ==
  Outcome([row EXCEPT !.contacts = [b \in Brokers |->
             [live |-> TRUE, metadataOffset |-> Undefined, shutdownOffset |->
                IF row.registrations[b].stopping THEN row.offset ELSE Undefined]]], {})
=============================================================================
