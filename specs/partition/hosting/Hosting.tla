------------------------------- MODULE Hosting -------------------------------
(***************************************************************************)
(* A broker that hosts a replica: it applies metadata, by records and by    *)
(* snapshots, in directories that fail and between which the replica moves. *)
(* Twin: reference/partition/hosting/handlers.py.                                     *)
(*                                                                          *)
(* The row also has the committed metadata that concern this broker; the    *)
(* controller is inputs that change them. A report of the broker about its  *)
(* directories is accepted at once, if topic and assignment are those that  *)
(* the broker knows.                                                        *)
(*                                                                          *)
(* Left out: epochs of brokers, fetches and records (a log has all that was *)
(* acknowledged or not), a clean stop, and a future log that a start finds  *)
(* without the replica's log.                                               *)
(***************************************************************************)
EXTENDS HostingRules

(***************************************************************************)
(* The row.                                                                 *)
(*   image            what the metadata say of the partition and this       *)
(*                    broker: topicId (0: there is no topic), assigned,     *)
(*                    directory (in which the controller believes the       *)
(*                    replica), leads, inIsr, leaderEpoch, partitionEpoch   *)
(*   topicsMade       number of ids used                                    *)
(*   acknowledged     whether the topic has records that were acknowledged  *)
(*   running          whether there is a process                            *)
(*   published        whether it has been given an image (V26)              *)
(*   applied          volatile: the last one                                *)
(*   replica          volatile: state ("None", "Online", "Offline"),        *)
(*                    topicId, directory, leads, leaderEpoch,               *)
(*                    partitionEpoch, pending (a proposal is on its way)    *)
(*   online           directories that have not failed                      *)
(*   reported         failed ones that the controller has heard of          *)
(*   logs             durable: [directory, topicId, complete]               *)
(*   future           durable: the directory of the future log, to which    *)
(*                    the replica moves, or 0                               *)
(*   futureCaughtUp   durable: whether the future log ends where the        *)
(*                    replica's log ends                                    *)
(*   futureAssigned   volatile: whether the broker has told the controller  *)
(*                    that the replica is there                             *)
(*   aborted          the partition epoch at which a metadata transaction    *)
(*                    was aborted that moves the replica, and that is yet to *)
(*                    be read; or Undefined                                  *)
(***************************************************************************)
NoImage ==
  [topicId |-> 0, assigned |-> FALSE, directory |-> Unassigned, leads |-> FALSE,
   inIsr |-> FALSE, leaderEpoch |-> 0, partitionEpoch |-> 0]
NoReplica ==
  [state |-> "None", topicId |-> 0, directory |-> Unassigned, leads |-> FALSE,
   leaderEpoch |-> 0, partitionEpoch |-> 0, pending |-> FALSE]

InitialRow(n) ==
  [image |-> NoImage, topicsMade |-> 0, acknowledged |-> FALSE, running |-> TRUE,
   published |-> TRUE, applied |-> NoImage, replica |-> NoReplica, online |-> Directories,
   reported |-> {}, logs |-> {}, future |-> Unassigned, futureCaughtUp |-> FALSE,
   futureAssigned |-> FALSE,
   aborted |-> Undefined]

Running(row) == row.running

Made(row) == {[row |-> row, sent |-> {}, ignored |-> ""]}
If(enabled, row) == IF enabled THEN Made(row) ELSE {}

-----------------------------------------------------------------------------

(* The image after a change of the partition, and of its leader if so.      *)
Newer(image, leader) ==
  [image EXCEPT !.partitionEpoch = @ + 1, !.leaderEpoch = IF leader THEN @ + 1 ELSE @]

(* The controller takes the broker out of the ISR, and has another one lead.*)
OutOfIsr(image) ==
  IF ~image.inIsr THEN image
  ELSE [Newer(image, image.leads) EXCEPT !.leads = FALSE, !.inIsr = FALSE]

(* It stays in the ISR as its last member, and does not lead any more (C10).*)
WithoutLead(image) ==
  IF image.leads THEN [Newer(image, TRUE) EXCEPT !.leads = FALSE] ELSE image

WithoutLog(logs, directory) == {log \in logs : log.directory # directory}
WithLog(logs, log) == WithoutLog(logs, log.directory) \cup {log}

(* The controller records the replica's directory, if it is still the       *)
(* replica that it knows.                                                   *)
Told(row, directory) ==
  LET image == row.image
  IN IF /\ image.assigned /\ image.topicId = row.replica.topicId
        /\ image.directory # directory
     THEN [row EXCEPT !.image = [Newer(image, FALSE) EXCEPT !.directory = directory]]
     ELSE row

WithoutFuture(row) ==
  [row EXCEPT !.future = Unassigned, !.futureCaughtUp = FALSE, !.futureAssigned = FALSE]

(* Whether the replica serves, and the metadata mean it.                    *)
IsHosted(row) ==
  /\ row.running /\ row.replica.state = "Online" /\ row.replica.topicId = row.image.topicId

-----------------------------------------------------------------------------
(* What the controller commits.                                             *)

Step_HandleTopicCreated(n, row, input) ==
  LET id == row.topicsMade + 1
      active == input.assigned /\ row.running /\ row.published
  IN If(row.image.topicId = 0,
        [row EXCEPT
          !.image = [NoImage EXCEPT !.topicId = id, !.assigned = input.assigned,
                                    !.leads = active, !.inIsr = active],
          !.topicsMade = id, !.acknowledged = FALSE])

Step_HandleTopicDeleted(n, row, input) ==
  If(row.image.topicId # 0,
     [row EXCEPT !.image = NoImage, !.acknowledged = FALSE, !.aborted = Undefined])

(* The removal of a replica raises the leader epoch (R3).                   *)
Moved(image) ==
  [Newer(image, image.assigned) EXCEPT
    !.assigned = ~@, !.directory = Unassigned, !.leads = FALSE, !.inIsr = FALSE]

Step_HandleAssignmentChanged(n, row, input) ==
  If(row.image.topicId # 0, [row EXCEPT !.image = Moved(@)])

(* V28.  Begin, a change of the assignment, Abort: the metadata are what    *)
(* they were.                                                               *)
Step_HandleTransactionAborted(n, row, input) ==
  If(row.image.topicId # 0 /\ row.aborted = Undefined,
     [row EXCEPT !.aborted = row.image.partitionEpoch])

Step_HandleLeaderChanged(n, row, input) ==
  If(row.image.inIsr, [row EXCEPT !.image = [Newer(row.image, TRUE) EXCEPT !.leads = ~@]])

Step_HandleIsrChanged(n, row, input) ==
  If(row.image.assigned, [row EXCEPT !.image = Newer(@, FALSE)])

Step_HandleJoinIsr(n, row, input) ==
  LET log == [directory |-> row.replica.directory, topicId |-> row.replica.topicId,
              complete |-> TRUE]
  IN If(~row.image.inIsr /\ row.applied = row.image /\ IsHosted(row),
        [row EXCEPT !.image = [Newer(@, FALSE) EXCEPT !.inIsr = TRUE],
                    !.logs = WithLog(@, log),
                    !.futureCaughtUp = @ /\ log \in row.logs])

(* Only a replica that serves, in the ISR, has them.                        *)
Step_HandleAcknowledge(n, row, input) ==
  LET image == row.image
      has == IF image.inIsr THEN row.replica.directory ELSE Unassigned
  IN If(image.topicId # 0 /\ (image.inIsr => IsHosted(row)),
        [row EXCEPT
          !.acknowledged = TRUE,
          !.futureCaughtUp = @ /\ ~image.inIsr,
          !.logs = {[log EXCEPT !.complete = @ /\ log.directory = has] : log \in @}])

-----------------------------------------------------------------------------
(* What the broker applies.                                                 *)

(* The log is deleted with the replica, if it is reachable.                 *)
Removed(row) ==
  CASE row.replica.state = "Offline" /\ ~ForgetsOffline(row) -> row
    [] row.replica.state = "Offline" -> WithoutFuture([row EXCEPT !.replica = NoReplica])
    [] OTHER -> WithoutFuture([row EXCEPT !.replica = NoReplica,
                                          !.logs = WithoutLog(@, row.replica.directory)])

(* R6.  A replica of another topic is not touched.                          *)
Updated(row, bySnapshot) ==
  LET image == row.image
      kept == row.futureAssigned /\ image.directory = row.future
      follows == [row EXCEPT
        !.futureAssigned = kept,
        !.replica.leads = image.leads, !.replica.leaderEpoch = image.leaderEpoch,
        !.replica.partitionEpoch = image.partitionEpoch,
        !.replica.pending = @ /\ image.leads /\ ~ClearsPending(row, bySnapshot)]
  IN CASE row.replica.topicId # image.topicId -> row
       [] kept -> follows
       [] OTHER -> Told(follows, row.replica.directory)

Hosts(row, topicId, directory, state) ==
  [row EXCEPT !.replica =
     [state |-> state, topicId |-> topicId, directory |-> directory,
      leads |-> row.image.leads, leaderEpoch |-> row.image.leaderEpoch,
      partitionEpoch |-> row.image.partitionEpoch, pending |-> FALSE]]

Least(directories) == CHOOSE d \in directories : \A e \in directories : d <= e

(* An existing log is used, or a new one created. Of two logs the one in    *)
(* the directory that the controller has recorded is used, and the other    *)
(* deleted (R20). A future log is promoted, or the move continues (R21).    *)
Created(row) ==
  LET image == row.image
      old == row.replica
      found == {log \in row.logs : log.directory \in row.online}
      believed == {l \in found : l.directory = image.directory}
      own == IF believed # {} THEN CHOOSE l \in believed : TRUE
             ELSE CHOOSE l \in found : \A m \in found : l.directory <= m.directory
      log == IF row.future # Unassigned /\ RecoversFuture(row)
             THEN [own EXCEPT !.directory = row.future, !.complete = @ /\ row.futureCaughtUp]
             ELSE own
      left == IF row.future = log.directory THEN WithoutFuture(row) ELSE row
      taken == [left EXCEPT !.logs = (@ \ found) \cup {log}]
      at == IF image.directory \in row.online THEN image.directory ELSE Least(row.online)
      made == [row EXCEPT !.logs = WithLog(@,
                 [directory |-> at, topicId |-> image.topicId,
                  complete |-> ~row.acknowledged])]
  IN CASE found # {} /\ old.state = "None" ->
            Told(Hosts(taken, log.topicId, log.directory, "Online"), log.directory)
       [] MayCreate(row) -> Told(Hosts(made, image.topicId, at, "Online"), at)
       [] old.state = "Offline" /\ old.topicId = image.topicId -> row
       [] OTHER -> Hosts(row, image.topicId, image.directory, "Offline")

(* Deletions come before creations (R13).                                   *)
Applied(row, bySnapshot) ==
  LET image == row.image
      strays == IF row.published THEN {}
                ELSE {log \in row.logs : log.directory \in row.online /\ IsStray(log, image)}
      kept == row.logs \ strays
      alone == ~row.published /\ \A log \in kept : log.directory \notin row.online
      read == [IF alone THEN WithoutFuture(row) ELSE row EXCEPT
                !.applied = image, !.published = TRUE, !.logs = kept]
      goes == /\ row.replica.state # "None"
              /\ IsOfDeletedTopic(row, bySnapshot) \/ HasLeft(row, bySnapshot)
      left == IF goes THEN Removed(read) ELSE read
  IN CASE ~image.assigned -> left
       [] left.replica.state = "Online" -> Updated(left, bySnapshot)
       [] OTHER -> Created(left)

(* If an aborted transaction is applied, the broker's report about it is    *)
(* refused (V28).                                                           *)
Read(row, bySnapshot) ==
  LET image == IF ReadsAborted(row, bySnapshot) THEN Moved(row.image) ELSE row.image
      after == Applied([row EXCEPT !.image = image], bySnapshot)
  IN [after EXCEPT !.image = IF image = row.image THEN @ ELSE row.image,
                   !.aborted = Undefined]

Step_HandleApplyRecords(n, row, input) ==
  If(/\ row.running
     /\ row.published => (row.applied # row.image \/ row.aborted # Undefined),
     Read(row, FALSE))

Step_HandleLoadSnapshot(n, row, input) == If(row.running, Read(row, TRUE))

-----------------------------------------------------------------------------
(* Directories: R18, R19, R21.                                              *)

(* The replica stays in its directory, and the broker reports it if the     *)
(* controller has recorded another.                                         *)
WithoutMove(row) ==
  IF TakesBackAssignment(row) THEN Told(WithoutFuture(row), row.replica.directory)
  ELSE WithoutFuture(row)

(* A broker whose last directory fails stops.                               *)
Step_HandleLogDirFailure(n, row, input) ==
  LET failed == input.directory
      offline == [row EXCEPT !.replica.state = "Offline", !.replica.pending = FALSE]
      now == CASE row.replica.state = "Online" /\ row.replica.directory = failed ->
                    WithoutMove(offline)
               [] row.future = failed -> WithoutMove(row)
               [] OTHER -> row
  IN If(row.running /\ failed \in row.online /\ Cardinality(row.online) > 1 /\ ~Sole,
        [now EXCEPT !.online = @ \ {failed}])

Step_HandleReportDirectory(n, row, input) ==
  LET failed == input.directory
      believed == row.image.assigned /\ row.image.directory = failed
  IN If(row.running /\ failed \notin row.online /\ failed \notin row.reported,
        [row EXCEPT !.image = IF believed THEN OutOfIsr(@) ELSE @,
                    !.reported = @ \cup {failed}])

Step_HandleMoveReplica(n, row, input) ==
  If(/\ IsHosted(row) /\ row.future = Unassigned
     /\ input.directory \in row.online /\ input.directory # row.replica.directory,
     [row EXCEPT !.future = input.directory])

Step_HandleFutureCaughtUp(n, row, input) ==
  If(row.future # Unassigned /\ IsHosted(row) /\ row.image.assigned,
     Told([row EXCEPT !.futureCaughtUp = TRUE, !.futureAssigned = TRUE], row.future))

Step_HandlePromoteFuture(n, row, input) ==
  LET at == row.replica.directory
      old == CHOOSE log \in row.logs : log.directory = at
      new == [old EXCEPT !.directory = row.future, !.complete = @ /\ row.futureCaughtUp]
      logs == WithLog(WithoutLog(row.logs, at), new)
  IN If(PromotesFuture(row),
        WithoutFuture([row EXCEPT !.replica.directory = row.future, !.logs = logs]))

Step_HandleCancelMove(n, row, input) ==
  If(row.running /\ row.future # Unassigned, WithoutMove(row))

-----------------------------------------------------------------------------
(* The process.                                                             *)

Step_HandlePropose(n, row, input) ==
  If(IsHosted(row) /\ row.replica.leads /\ ~row.replica.pending,
     [row EXCEPT !.replica.pending = TRUE])

Step_HandleHostCrash(n, row, input) ==
  If(row.running,
     [row EXCEPT !.running = FALSE, !.published = FALSE, !.applied = NoImage,
                 !.replica = NoReplica, !.futureAssigned = FALSE])

(* A broker that registers again leaves the ISR, unless it is the last      *)
(* member (C3, C10, R20).                                                   *)
Step_HandleHostRestart(n, row, input) ==
  LET failed == Directories \ input.directories
      reached == \E log \in row.logs : log.directory \in input.directories
      found == IF row.future \in input.directories /\ reached THEN row ELSE WithoutFuture(row)
  IN If(~row.running /\ input.directories # {} /\ (Sole => failed = {}),
        [found EXCEPT
          !.running = TRUE, !.online = input.directories, !.reported = failed,
          !.image = IF Sole THEN WithoutLead(@) ELSE OutOfIsr(@)])
=============================================================================
