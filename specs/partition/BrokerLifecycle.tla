-------------------------- MODULE BrokerLifecycle ---------------------------
(***************************************************************************)
(* A broker's life: registration, heartbeats, applying metadata, becoming   *)
(* leader or follower, clean stop, crash and recovery (C2 to C6, P1 to P3,  *)
(* P22 to P24; Kafka's BrokerLifecycleManager, BrokerMetadataPublisher,     *)
(* ReplicaManager.applyDelta, LogLoader).                                   *)
(*                                                                          *)
(* Metadata arrives as a MetadataUpdate: the committed records from the     *)
(* broker's own offset on, as many as it happens to read at once.  Several  *)
(* changes are then folded into one, as Kafka's MetadataLoader does.        *)
(***************************************************************************)
EXTENDS HighWatermark

-----------------------------------------------------------------------------
(* Applying metadata: P1 to P3.                                             *)

RECURSIVE Folded(_, _)
Folded(image, records) ==
  IF records = <<>> THEN image
  ELSE LET record == records[1]
           next == [image EXCEPT !.offset = @ + 1]
       IN Folded(IF record.kind = "Broker"
                 THEN [next EXCEPT !.brokers[record.broker] = record.registration]
                 ELSE [next EXCEPT !.partition = record.partition],
                 Tail(records))

ChangesPartition(records) == \E i \in 1..Len(records) : records[i].kind = "Partition"

(* P2.                                                                      *)
BecomeLeader(n, row, partition) ==
  LET known == [row EXCEPT
        !.role = "Leader", !.leader = n, !.leaderEpoch = partition.leaderEpoch,
        !.partitionEpoch = partition.partitionEpoch, !.isr = partition.isr,
        !.pending = IF ClearsPending(row, partition) THEN NoPending ELSE @,
        !.lastFetchedEpoch = Undefined]
      remote(b) == [(IF KeepsEndOffsets(row) THEN row.remotes[b] ELSE UnknownRemote)
                      EXCEPT !.caughtUp = b \in partition.isr \ {n}]
      opened == [known EXCEPT
        !.epochStart = EndOffset(row.log),
        !.epochCache = CacheOnBecomeLeader(row, partition.leaderEpoch),
        !.remotes = [b \in Brokers |-> remote(b)]]
  IN AdvanceAndFinish(n, IF partition.leaderEpoch > row.leaderEpoch THEN opened ELSE known, {})

(* P3.                                                                      *)
BecomeFollower(n, row, partition) ==
  LET known == [row EXCEPT
        !.role = "Follower", !.leader = partition.leader,
        !.leaderEpoch = partition.leaderEpoch, !.partitionEpoch = partition.partitionEpoch,
        !.epochStart = Undefined, !.isr = {}, !.pending = NoPending,
        !.remotes = NoRemotes, !.parked = {}]
      end == EndOnBecomeFollower(row)
      cut == IF end < EndOffset(row.log) THEN TruncateTo(known, end) ELSE known
      restarted == [cut EXCEPT !.lastFetchedEpoch = LastFetchedOnBecomeFollower(cut, partition)]
  IN Outcome(IF partition.leaderEpoch > row.leaderEpoch THEN restarted ELSE known,
             FailedResponses(n, row))

Publish(n, row) ==
  LET partition == row.image.partition
  IN CASE IsOutdatedPartition(row, partition) -> Outcome(row, {})
       [] partition.leader = n -> BecomeLeader(n, row, partition)
       [] OTHER -> BecomeFollower(n, row, partition)

(* Is the partition touched, and not only the image?                        *)
TouchesPartition(row, input) == ActsOnMetadata(row) /\ ChangesPartition(input.records)

Apply(row, input) == [row EXCEPT !.image = Folded(@, input.records)]

ApplyAlone(row, input) ==
  IF ~IsUp(row) \/ input.offset # row.image.offset \/ input.records = <<>> THEN Disabled
  ELSE Outcome(Apply(row, input), {})

(* ACTION HandleMetadataUpdate                                              *)
(* WHO    a broker                                                          *)
(* WHAT   It reads committed metadata records from its own offset on. If    *)
(*        they change the partition, it becomes leader or follower, or      *)
(*        ignores an outdated change (P1 to P3).                            *)
Step_HandleMetadataUpdate(n, row, input) ==
  CASE ~TouchesPartition(row, input) -> ApplyAlone(row, input)
    [] ~IsUp(row) \/ input.offset # row.image.offset -> Disabled
    [] OTHER -> Publish(n, Apply(row, input))

-----------------------------------------------------------------------------
(* Registration and heartbeats: C2 to C5, the broker's side.                *)

RegisterBrokerRequest(n, row) ==
  [type |-> "RegisterBrokerRequest", source |-> n, destination |-> Controller,
   incarnation |-> row.incarnation, previousEpoch |-> row.previousEpoch]

(* ACTION HandleSendRegistration                                            *)
(* WHO    a broker without a broker epoch                                   *)
(* WHAT   It sends a registration with its incarnation and the broker epoch *)
(*        of its last clean shutdown (C2, C3).                              *)
Step_HandleSendRegistration(n, row, input) ==
  IF ~IsUp(row) \/ row.brokerEpoch # Undefined \/ row.controllerRequest # NoRequest
  THEN Disabled
  ELSE Outcome([row EXCEPT !.controllerRequest = RegisterBrokerRequest(n, row)],
               {RegisterBrokerRequest(n, row)})

(* ACTION HandleRegisterBrokerResponse                                      *)
(* WHO    a broker                                                          *)
(* WHAT   It adopts the broker epoch from a response to its present         *)
(*        incarnation. After an error it registers again.                   *)
Step_HandleRegisterBrokerResponse(n, row, m) ==
  CASE ~IsUp(row) \/ ~RegistrationAccepted(row, m) -> Ignore(row, "NotAwaited")
    [] m.error # "NONE" -> Outcome([row EXCEPT !.controllerRequest = NoRequest], {})
    [] OTHER -> Outcome([row EXCEPT !.controllerRequest = NoRequest,
                                    !.brokerEpoch = m.brokerEpoch], {})

HeartbeatRequest(n, row) ==
  [type |-> "HeartbeatRequest", source |-> n, destination |-> Controller,
   brokerEpoch |-> row.brokerEpoch, metadataOffset |-> row.image.offset,
   wantFence |-> row.status = "Starting", wantShutDown |-> row.status = "ShuttingDown"]

(* ACTION HandleSendHeartbeat                                               *)
(* WHO    a registered broker                                               *)
(* WHAT   It sends its metadata offset, and whether it wants to stay fenced *)
(*        or to shut down (C5).                                             *)
Step_HandleSendHeartbeat(n, row, input) ==
  IF ~IsUp(row) \/ row.brokerEpoch = Undefined \/ row.controllerRequest # NoRequest
  THEN Disabled
  ELSE Outcome([row EXCEPT !.controllerRequest = HeartbeatRequest(n, row)],
               {HeartbeatRequest(n, row)})

(* The fields of a row that survive the process. All others are initial     *)
(* again.                                                                   *)
OnDisk(row) ==
  [InitialRow(Nobody) EXCEPT
     !.status = "Down", !.incarnation = row.incarnation, !.brokerEpoch = Undefined,
     !.cleanShutdown = row.cleanShutdown,
     !.log = row.log, !.logStart = row.logStart, !.flushed = row.flushed,
     !.corrupt = row.corrupt, !.epochCache = row.epochCache, !.checkpoint = row.checkpoint,
     !.role = "None", !.leaderEpoch = Undefined, !.partitionEpoch = Undefined]
Stopped(row) == OnDisk(row)

(* P22.                                                                     *)
StoppedCleanly(row) ==
  Stopped([row EXCEPT !.flushed = EndOffset(row.log), !.checkpoint = row.highWatermark,
                      !.cleanShutdown = row.brokerEpoch])

(* May the answer stop the broker, or let it begin to serve?                *)
MayMove(row, m) ==
  \/ row.status = "ShuttingDown" /\ m.shouldShutDown
  \/ row.status = "Starting" /\ m.isCaughtUp

NoteHeartbeat(row, m) ==
  IF ~IsUp(row) \/ row.controllerRequest # m.request THEN Ignore(row, "NotAwaited")
  ELSE Outcome([row EXCEPT !.controllerRequest = NoRequest], {})

(* ACTION HandleHeartbeatResponse                                           *)
(* WHO    a broker                                                          *)
(* WHAT   A caught-up starting broker begins to serve. A stopping broker    *)
(*        that may stop flushes, and stops cleanly (C5, P22).               *)
Step_HandleHeartbeatResponse(n, row, m) ==
  CASE ~MayMove(row, m) \/ row.controllerRequest # m.request \/ m.error # "NONE" ->
         NoteHeartbeat(row, m)
    [] row.status = "ShuttingDown" -> Outcome(StoppedCleanly(row), {})
    [] OTHER ->
         Publish(n, [row EXCEPT !.controllerRequest = NoRequest, !.status = "Running"])

(* ACTION HandleControlledShutdown                                          *)
(* WHO    a running broker                                                  *)
(* WHAT   An administrator requests a clean shutdown (C5).                  *)
Step_HandleControlledShutdown(n, row, input) ==
  IF row.status # "Running" THEN Disabled
  ELSE Outcome([row EXCEPT !.status = "ShuttingDown"], {})

(* ACTION HandleControllerRequestTimeout                                    *)
(* WHO    a broker                                                          *)
(* WHAT   A request to the controller will not be answered any more. It may *)
(*        be sent again (P11).                                              *)
Step_HandleControllerRequestTimeout(n, row, input) ==
  CASE IsUp(row) /\ row.controllerRequest = input.request /\ input.request # NoRequest ->
         Outcome([row EXCEPT !.controllerRequest = NoRequest], {})
    [] IsUp(row) /\ row.alterRequest = input.request /\ input.request # NoRequest ->
         Outcome([row EXCEPT !.alterRequest = NoRequest], {})
    [] OTHER -> Disabled

-----------------------------------------------------------------------------
(* Crash and recovery: P23, P24.                                            *)

(* Where a crash may leave the end of the log: at the end of a batch that   *)
(* was not flushed, or at the flushed end.                                  *)
IsBatchEnd(log, offset) == offset = 0 \/ EndsBatch(log[offset])

(* A log that has lost everything begins and ends at its recorded start     *)
(* (LogLoader).                                                             *)
DurableEnd(row) == IF row.flushed < row.logStart THEN row.logStart ELSE row.flushed

MayKeep(row, keep) ==
  /\ keep \in DurableEnd(row)..EndOffset(row.log)
  /\ keep = DurableEnd(row) \/ IsBatchEnd(row.log, keep)

MayCorrupt(row, keep, corrupt) ==
  \/ corrupt = Undefined
  \/ corrupt \in DurableEnd(row)..(keep - 1) /\ IsBatchEnd(row.log, corrupt)

(* ACTION HandleBrokerCrash                                                 *)
(* WHO    a running broker                                                  *)
(* WHAT   The process ends. `keep` is what is left of the log, `corrupt` the *)
(*        first bad batch in it. A process crash keeps everything. A machine *)
(*        crash keeps what was flushed, and as much of the rest as happened *)
(*        to be written (P23, S6).                                          *)
Step_HandleBrokerCrash(n, row, input) ==
  LET left == [i \in 1..input.keep |->
                 IF input.corrupt # Undefined /\ i > input.corrupt
                 THEN [row.log[i] EXCEPT !.value = Corrupt] ELSE row.log[i]]
      crashed == [row EXCEPT
        !.log = left, !.corrupt = input.corrupt,
        !.flushed = IF input.keep < EndOffset(row.log) THEN input.keep ELSE @]
  IN IF ~IsUp(row) \/ ~MayKeep(row, input.keep) \/ ~MayCorrupt(row, input.keep, input.corrupt)
     THEN Disabled
     ELSE Outcome(Stopped(crashed), {})

(* ACTION HandleBrokerRestart                                               *)
(* WHO    a broker that is down                                             *)
(* WHAT   It starts with nothing but its disk: it recovers the log, the     *)
(*        epoch cache and the high watermark, deletes the clean-shutdown    *)
(*        file, and must register (P23, P24).                               *)
Step_HandleBrokerRestart(n, row, input) ==
  LET end == RecoveredEnd(row)
      log == Prefix(row.log, end)
      highWatermark == RecoveredHighWatermark(row, end)
      recovered == [row EXCEPT
        !.status = "Starting", !.incarnation = @ + 1,
        !.previousEpoch = row.cleanShutdown, !.cleanShutdown = Undefined,
        !.log = log, !.flushed = MinOf(@, end), !.corrupt = Undefined,
        !.epochCache = RecoveredEpochCache(row, end),
        !.producers = ProducersOf(log, BatchesKept),
        !.highWatermark = highWatermark, !.checkpoint = highWatermark]
  IN IF row.status # "Down" THEN Disabled ELSE Outcome(recovered, {})
=============================================================================
