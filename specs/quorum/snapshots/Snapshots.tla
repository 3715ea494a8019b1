------------------------------ MODULE Snapshots -------------------------------
(***************************************************************************)
(* A controller, or an observing broker, with snapshots of the metadata log *)
(* (KIP-630): it makes them, deletes the prefix of its log that they cover, *)
(* sends them to nodes that need this prefix, and loads them. All other     *)
(* steps are those of VoterChanges. A node that is no voter is an observer. *)
(*                                                                          *)
(* `log` has all records of a node: those of its latest snapshot,           *)
(* and those after it. `logStart` is the start of the records that can      *)
(* still be read one by one.                                                *)
(*                                                                          *)
(* Python twin: reference/quorum/snapshots/handlers.py.                            *)
(*                                                                          *)
(* Not modelled here: bytes and positions (a snapshot comes with one        *)
(* answer), partial files, batches that a snapshot might cut, the           *)
(* bootstrap checkpoint (V12), retention (any prefix that a snapshot covers *)
(* may go), a start of the log that a restart moves back to its segment's   *)
(* (V3), what a broker makes of the metadata (V26 to V28), and what         *)
(* VoterChanges does not model.                                             *)
(***************************************************************************)
EXTENDS SnapshotRules, TLC

V == INSTANCE VoterChanges
InForce(Voters) == INSTANCE QuorumHandlers

(***************************************************************************)
(* The row is that of VoterChanges, and:                                    *)
(*   bootstrap    durable: the first set, of the bootstrap checkpoint (V12) *)
(*   logStart     where what can be read record by record begins            *)
(*   snapshots    durable: those that are complete                          *)
(*   download     follower: the id of the snapshot that it asks for         *)
(*   machine      volatile, with StateMachines: what the controller has     *)
(*                read: next, an offset; records, those that count; stable, *)
(*                an end and the records that it goes back to when it is    *)
(*                deposed.  What an active one has written besides is in    *)
(*                its log from `next` on.                                   *)
(***************************************************************************)
NoMachine == [next |-> 0, records |-> <<>>, stable |-> [endOffset |-> 0, records |-> <<>>]]

InitialRow(n) ==
  V!InitialRow(n) @@
  [bootstrap |-> FirstVoters, logStart |-> 0, snapshots |-> {}, download |-> NoId,
   machine |-> NoMachine]

Running(row) == V!Running(row)

-----------------------------------------------------------------------------
(* The end of every step.                                                   *)

FetchSnapshotRequest(row, m) ==
  [type |-> "FetchSnapshotRequest", source |-> m.source, destination |-> m.destination,
   epoch |-> m.epoch, snapshotId |-> row.download]

FetchResponse(m, id) ==
  [type |-> m.type, source |-> m.source, destination |-> m.destination, error |-> m.error,
   epoch |-> m.epoch, leader |-> m.leader, records |-> m.records, diverging |-> m.diverging,
   highWatermark |-> m.highWatermark, request |-> m.request, snapshotId |-> id]

(* A node that loads a snapshot requests it in place of records. A request  *)
(* for deleted records is referred to a snapshot (V5, V7).                  *)
Outgoing(row, m) ==
  CASE m.type = "FetchRequest" /\ row.download # NoId -> FetchSnapshotRequest(row, m)
    [] m.type = "FetchResponse" ->
         IF m.records # <<>> /\ FetchNeedsSnapshot(row, m.request)
         THEN FetchResponse([m EXCEPT !.records = <<>>], IdOf(Latest(row.snapshots)))
         ELSE FetchResponse(m, NoId)
    [] OTHER -> m

(* V8.                                                                      *)
FromSnapshot(snapshot) ==
  LET records == Data(snapshot.records)
  IN [next |-> snapshot.endOffset, records |-> records,
      stable |-> [endOffset |-> StableAfterSnapshot(snapshot.endOffset), records |-> records]]

(* V29.  Batches are read up to an end.  It goes back to what it has after  *)
(* the last of them that has data, unless it goes back to more already.     *)
ReadTo(machine, log, end) ==
  LET records == machine.records \o Data(SubSeq(log, machine.next + 1, end))
      ends == {i \in (machine.next + 1)..end : Data(<<log[i]>>) # <<>>}
      last == IF ends = {} THEN 0 ELSE CHOOSE i \in ends : \A j \in ends : j <= i
  IN [next |-> end, records |-> records,
      stable |-> IF last <= machine.stable.endOffset THEN machine.stable
                 ELSE [endOffset |-> last, records |-> records]]

(* A deposed controller returns to the committed state, and then reads all  *)
(* committed records (V29).                                                 *)
MachineAfter(old, new) ==
  LET watermark == new.highWatermark
      kept == IF IsActive(old) /\ ~IsActive(new)
              THEN [old.machine EXCEPT !.records = old.machine.stable.records]
              ELSE old.machine
      begun == IF BeginsWithSnapshot(new, kept.next) THEN FromSnapshot(Latest(new.snapshots))
               ELSE kept
  IN CASE ~StateMachines \/ ~Running(new) -> NoMachine
       [] watermark <= begun.next -> begun
       [] OTHER -> ReadTo(begun, new.log, watermark)

(* A download ends with its role.                                           *)
Kept(row, outcomes) ==
  LET follows(now) == /\ now.role = "Follower" /\ now.epoch = row.epoch
                      /\ now.leader = row.leader
      with(o) == [o.row EXCEPT !.download = IF follows(o.row) THEN @ ELSE NoId]
      after(o) == [with(o) EXCEPT !.machine = MachineAfter(row, with(o))]
  IN {[row |-> after(o), sent |-> {Outgoing(after(o), m) : m \in o.sent},
       ignored |-> o.ignored] : o \in outcomes}

(* A step of the quorum's that leads to this row.                           *)
Finished(n, before, row) ==
  Kept(before, V!Changed(n, before, InForce(VotersOf(before))!Finish(n, before, row, {})))

Refuse(row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}

(* V11.  The sets of what a node has whose latest snapshot ends there.      *)
ReadAnew(row, log, end) ==
  HistoryAfterSnapshot(
    <<[offset |-> Undefined, voters |-> row.bootstrap]>> \o SetsIn(log, 0), end)

-----------------------------------------------------------------------------
(* What snapshots leave as it is.                                           *)

Step_HandleVoteRequest(n, row, m) == Kept(row, V!Step_HandleVoteRequest(n, row, m))
Step_HandleVoteResponse(n, row, m) == Kept(row, V!Step_HandleVoteResponse(n, row, m))
Step_HandleBeginQuorumEpochRequest(n, row, m) ==
  Kept(row, V!Step_HandleBeginQuorumEpochRequest(n, row, m))
Step_HandleBeginQuorumEpochResponse(n, row, m) ==
  Kept(row, V!Step_HandleBeginQuorumEpochResponse(n, row, m))
Step_HandleEndQuorumEpochRequest(n, row, m) ==
  Kept(row, V!Step_HandleEndQuorumEpochRequest(n, row, m))
Step_HandleEndQuorumEpochResponse(n, row, m) ==
  Kept(row, V!Step_HandleEndQuorumEpochResponse(n, row, m))
Step_HandleFetchMaxWait(n, row, input) == Kept(row, V!Step_HandleFetchMaxWait(n, row, input))
Step_HandleAppend(n, row, input) == Kept(row, V!Step_HandleAppend(n, row, input))
Step_HandleFlush(n, row, input) == Kept(row, V!Step_HandleFlush(n, row, input))
Step_HandleElectionTimeout(n, row, input) ==
  Kept(row, V!Step_HandleElectionTimeout(n, row, input))
Step_HandleFetchTimeout(n, row, input) == Kept(row, V!Step_HandleFetchTimeout(n, row, input))
Step_HandleBeginQuorumEpochTimeout(n, row, input) ==
  Kept(row, V!Step_HandleBeginQuorumEpochTimeout(n, row, input))
Step_HandleCheckQuorumTimeout(n, row, input) ==
  Kept(row, V!Step_HandleCheckQuorumTimeout(n, row, input))
Step_HandleResign(n, row, input) == Kept(row, V!Step_HandleResign(n, row, input))
Step_HandleRequestTimeout(n, row, input) ==
  Kept(row, V!Step_HandleRequestTimeout(n, row, input))
Step_HandleFetchFromBootstrap(n, row, input) ==
  Kept(row, V!Step_HandleFetchFromBootstrap(n, row, input))
Step_HandleAddVoter(n, row, input) == Kept(row, V!Step_HandleAddVoter(n, row, input))
Step_HandleRemoveVoter(n, row, input) == Kept(row, V!Step_HandleRemoveVoter(n, row, input))
Step_HandleVoterChangeTimeout(n, row, input) ==
  Kept(row, V!Step_HandleVoterChangeTimeout(n, row, input))

-----------------------------------------------------------------------------
(* Made, and cleaned: V2, V3.                                               *)

Step_HandleCreateSnapshot(n, row, input) ==
  IF ~Running(row) \/ ~SnapshotAllowed(row, input.end) THEN {}
  ELSE Refuse([row EXCEPT
         !.snapshots = @ \cup {SnapshotTaken(row, input.end)},
         !.history = HistoryAfterSnapshot(@, input.end)], "")

Step_HandleCleanSnapshots(n, row, input) ==
  IF ~Running(row) \/ ~PrefixDeletable(row, input.offset) THEN {}
  ELSE Refuse([row EXCEPT
         !.logStart = input.offset,
         !.snapshots = {s \in @ : s.endOffset >= input.offset}], "")

-----------------------------------------------------------------------------
(* Fetched: V5, V6.                                                         *)

(* Such a response records nothing about the fetching node (V5).            *)
Step_HandleFetchRequest(n, row, m) ==
  LET error == InForce(VotersOf(row))!FetchRequestError(row, m)
      answer == InForce(VotersOf(row))!FetchErrorResponse(row, m, "NONE")
  IN IF error # "NONE" \/ ~FetchNeedsSnapshot(row, m)
     THEN Kept(row, V!Step_HandleFetchRequest(n, row, m))
     ELSE {[row |-> row, ignored |-> "",
            sent |-> {FetchResponse([answer EXCEPT !.highWatermark = row.highWatermark],
                                    IdOf(Latest(row.snapshots)))}]}

(* V6.  A fetch of a snapshot shows the leader that its follower lives, and *)
(* nothing of where it is.                                                  *)
Step_HandleFetchSnapshotRequest(n, row, m) ==
  LET asked == [epoch |-> m.epoch, fetchOffset |-> 0, lastFetchedEpoch |-> 0]
      known == InForce(VotersOf(row))!FetchRequestError(row, asked)
      error == IF known = "NONE" /\ ~IsServed(row, m.snapshotId) THEN "SNAPSHOT_NOT_FOUND"
                                                                 ELSE known
      fetched == row.fetchedVoters \cup (VotersOf(row) \cap {m.source})
      round == InForce(VotersOf(row))!CheckQuorumSatisfied(fetched, n)
      heard == IF error # "NONE" THEN row
               ELSE [row EXCEPT !.fetchedVoters = IF round THEN {} ELSE fetched]
  IN {[row |-> heard, ignored |-> "",
       sent |-> {[type |-> "FetchSnapshotResponse", source |-> n, destination |-> m.source,
                  error |-> error, epoch |-> row.epoch, leader |-> row.leader,
                  snapshot |-> IF error # "NONE" THEN NoSnapshot
                               ELSE CHOOSE s \in row.snapshots : IdOf(s) = m.snapshotId,
                  request |-> m]}]}

-----------------------------------------------------------------------------
(* Loaded: V7.                                                              *)

(* Whether a response is one of the leader that is followed, to the request *)
(* that is in flight; all others are for the quorum to judge.               *)
IsHeard(row, m) ==
  /\ row.role = "Follower" /\ row.leader = m.source
  /\ row.connections[m.source] = "Awaiting"
  /\ m.epoch = row.epoch

(* V5.  The next request is for the snapshot.                               *)
Step_HandleFetchResponse(n, row, m) ==
  LET asks == [row EXCEPT !.download = m.snapshotId]
      follower == [InForce(VotersOf(row))!Answered(asks, m) EXCEPT !.hasFetched = TRUE]
      awaited == m.request = InForce(VotersOf(row))!RequestInFlight(n, row, m.source)
  IN CASE row.download # NoId -> Refuse(row, "NotAwaited")
       [] m.snapshotId # NoId /\ awaited /\ IsHeard(row, m) ->
            Finished(n, asks, follower)
       [] OTHER -> Kept(row, V!Step_HandleFetchResponse(n, row, m))

(* The snapshot replaces the log, all derived state is computed again, and  *)
(* the snapshot's records are committed (V4, V7).                           *)
WithSnapshot(row, snapshot) ==
  LET log == LogAfterSnapshot(row, snapshot)
  IN [row EXCEPT
        !.logStart = snapshot.endOffset, !.snapshots = {snapshot}, !.download = NoId,
        !.history = ReadAnew(row, log, snapshot.endOffset),
        !.historyEnd = EndOffset(log),
        !.log = log, !.flushed = EndOffset(log), !.epochCache = CacheAppend(<<>>, 0, log)]

Load(n, answered, m) ==
  LET loaded == WithSnapshot(answered, m.snapshot)
  IN Finished(n, loaded, [loaded EXCEPT !.highWatermark = m.snapshot.endOffset])

Step_HandleFetchSnapshotResponse(n, row, m) ==
  LET asked == InForce(VotersOf(row))!RequestInFlight(n, row, m.source)
      answered == [InForce(VotersOf(row))!Answered(row, m) EXCEPT !.hasFetched = TRUE]
      nothing(after) == InForce(VotersOf(row))!Finish(n, row, after, {})
      heard == [m EXCEPT !.request = asked]
  IN CASE row.download = NoId -> Refuse(row, "NotAwaited")
       [] m.request # FetchSnapshotRequest(row, asked) -> Refuse(row, "NotAwaited")
       [] ~IsHeard(row, m) \/ m.error \notin {"NONE", "SNAPSHOT_NOT_FOUND"} ->
            Kept(row, V!Changed(n, row,
              InForce(VotersOf(row))!ReceiveResponse(n, row, heard, nothing)))
       [] m.error = "SNAPSHOT_NOT_FOUND" -> Finished(n, row, [answered EXCEPT !.download = NoId])
       [] ReplacesLog(row, m.snapshot) -> Load(n, answered, m)
       [] OTHER -> Finished(n, row, InForce(VotersOf(row))!Halt(row))

-----------------------------------------------------------------------------
(* Crash and restart: V4.                                                   *)

Step_HandleCrash(n, row, input) ==
  {[o EXCEPT !.row.history = ReadAnew(row, <<>>, 0), !.row.download = NoId] :
     o \in Kept(row, V!Step_HandleCrash(n, row, input))}

Step_HandleRestart(n, row, input) ==
  LET found == row.snapshots # {}
      latest == Latest(row.snapshots)
      read == [row EXCEPT
        !.history = ReadAnew(row, row.log, IF found THEN latest.endOffset ELSE 0),
        !.historyEnd = EndOffset(row.log)]
      up == IF found /\ SnapshotIsAhead(row, latest) THEN WithSnapshot(row, latest) ELSE read
  IN CASE row.role # "Down" -> {}
       [] ~MayStart(row) -> Finished(n, row, InForce(VotersOf(row))!Halt(row))
       [] OTHER -> Kept(up, V!Step_HandleRestart(n, up, input))

(* V10.  Snapshots go with the disk.                                        *)
Step_HandleReplaceDisk(n, row, input) ==
  {[o EXCEPT !.row = IF o.ignored = "" THEN InitialRow(n) ELSE row] :
     o \in V!Step_HandleReplaceDisk(n, row, input)}
=============================================================================
