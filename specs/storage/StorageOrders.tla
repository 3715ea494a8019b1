--------------------------- MODULE StorageOrders ----------------------------
(***************************************************************************)
(* The log of one partition: appends, rolls, flushes, checkpoints,          *)
(* truncations, clean stops and starts. Each is a sequence of steps on the  *)
(* disk, and a power loss or a kill may come between any two. The Python    *)
(* twin is reference/storage.                                               *)
(*                                                                          *)
(* todo: the remaining steps of the running operation. tasks: work of       *)
(* Kafka's scheduler: the flush after a roll, the epoch file after a        *)
(* truncation.                                                              *)
(*                                                                          *)
(* log is the abstraction, the log of the partition's row: appended records *)
(* that are not truncated. While an operation runs, or the broker is down,  *)
(* it may be any of `may`. known: all its former values. promised: below    *)
(* it, the recovery point guarantees that all is durable. loaded: what the  *)
(* running start has found.                                                 *)
(***************************************************************************)
EXTENDS StorageRules, StorageDisk

CONSTANTS Values, Epochs   \* of records, of leaders

VARIABLES disk, up, recoveryPoint, epochs, namesChanged, tasks, todo,
          log, known, may, promised, loaded

memory == <<up, recoveryPoint, epochs, namesChanged, tasks>>
ghosts == <<log, known, may, promised, loaded>>
vars == <<disk, memory, todo, ghosts>>

LatestIn(cache) == IF cache = <<>> THEN Undefined ELSE cache[Len(cache)].epoch

NoBatch == [epoch |-> 0, value |-> 0]
Do(op, at) == [op |-> op, at |-> at, batch |-> NoBatch]

NothingLoaded == [judged |-> FALSE, hole |-> FALSE, open |-> {}]

(* The longest logs that it was. *)
Remembered(logs, now) ==
  IF \E l \in logs : IsPrefixOf(now, l) THEN logs
  ELSE {l \in logs : ~IsPrefixOf(l, now)} \cup {now}

Init ==
  /\ disk = SyncFolder(Create(EmptyDisk, 0), TRUE)
  /\ up = TRUE /\ recoveryPoint = 0 /\ epochs = <<>> /\ namesChanged = FALSE
  /\ tasks = <<>> /\ todo = <<>>
  /\ log = <<>> /\ known = {<<>>} /\ may = {<<>>} /\ promised = 0 /\ loaded = NothingLoaded

-----------------------------------------------------------------------------
(* Reading the disk as the engine does.                                     *)

DataOf(d, base) == d.files[FileOf(d, base)].data
Active(d) == Segments(d)[Len(Segments(d))]
EndOf(d) == Active(d) + Len(DataOf(d, Active(d)))

(* Segments that begin below `end`, from the one that `start` lies in.      *)
Between(d, start, end) ==
  LET below == {b \in BasesOf(NamesNow(d)) : b <= start}
      floor == IF below = {} THEN 0 ELSE CHOOSE b \in below : \A c \in below : c <= b
  IN IF start >= end THEN <<>> ELSE SelectSeq(Segments(d), LAMBDA b : floor <= b /\ b < end)

-----------------------------------------------------------------------------
(* Operations: what they do.                                                *)

EpochWrite == <<Do("epochs", 0)>> \o (IF EpochFileSynced THEN <<Do("syncFolder", 0)>> ELSE <<>>)

Syncs(bases) == [i \in 1..Len(bases) |-> Do("sync", bases[i])]

(* D5 *)
FlushSteps(target) ==
  LET flushed == Between(disk, recoveryPoint, target)
      begins == \E i \in 1..Len(flushed) : flushed[i] >= recoveryPoint
  IN IF target <= recoveryPoint THEN <<>>
     ELSE Syncs(flushed)
          \o (IF FolderSynced(begins, namesChanged) THEN <<Do("syncFolder", 0)>> ELSE <<>>)
          \o <<Do("flushed", target)>>

(* D1 *)
Appends(value, epoch) ==
  LET end == EndOf(disk)
      batch == [epoch |-> epoch, value |-> value]
      rises == LatestIn(epochs) < epoch
      before == Segments(disk)[Len(Segments(disk)) - 1]
      waits == /\ DataOf(disk, Active(disk)) = <<>> /\ Len(Segments(disk)) > 1
               /\ RollSynced(rises)
  IN /\ epochs' = CacheAssign(epochs, epoch, end)
     /\ todo' = (IF rises THEN EpochWrite ELSE <<>>)
                \o (IF waits THEN <<Do("sync", before), Do("syncFolder", 0)>> ELSE <<>>)
                \o <<[op |-> "write", at |-> end, batch |-> batch]>>
     /\ may' = {log, Append(log, batch)}
     /\ UNCHANGED <<disk, up, recoveryPoint, namesChanged, tasks, log, known, promised, loaded>>

(* D3 *)
Rolls ==
  LET base == EndOf(disk)
  IN /\ todo' = <<Do("close", Active(disk))>>
                \o (IF ClosingSynced(recoveryPoint, base) THEN Syncs(<<Active(disk)>>) ELSE <<>>)
                \o <<Do("create", base)>>
     /\ tasks' = Append(tasks, Do("flush", base))
     /\ UNCHANGED <<disk, up, recoveryPoint, epochs, namesChanged, ghosts>>

Flushes ==
  /\ todo' = FlushSteps(EndOf(disk))
  /\ UNCHANGED <<disk, memory, ghosts>>

Checkpoints ==
  /\ todo' = <<Do("checkpoint", recoveryPoint)>>
  /\ UNCHANGED <<disk, memory, ghosts>>

RunsTask ==
  /\ tasks' = Tail(tasks)
  /\ todo' = IF tasks[1].op = "flush" THEN FlushSteps(tasks[1].at) ELSE EpochWrite
  /\ UNCHANGED <<disk, up, recoveryPoint, epochs, namesChanged, ghosts>>

(* D7 *)
RECURSIVE Goings(_)
Goings(bases) ==
  IF bases = <<>> THEN <<>>
  ELSE <<Do("unlink", bases[1])>> \o (IF CutSynced THEN <<Do("syncFolder", 0)>> ELSE <<>>)
       \o Goings(Tail(bases))

Truncates(offset) ==
  LET going == SelectSeq(Segments(disk), LAMBDA b : b > offset)
      kept == SelectSeq(Segments(disk), LAMBDA b : b <= offset)
      last == kept[Len(kept)]
      cut == RecoveryPointCut(recoveryPoint, offset)
      cutEpochs == CacheTruncate(epochs, offset)
  IN /\ todo' = (IF RecoveryPointFirst
                 THEN <<Do("checkpoint", MinOf(recoveryPoint, offset))>> ELSE <<>>)
                \o Goings(CutInOrder(going))
                \o <<[op |-> "cut", at |-> last, batch |-> [epoch |-> 0, value |-> offset]]>>
                \o (IF CutSynced THEN <<Do("sync", last), Do("syncFolder", 0)>> ELSE <<>>)
                \o (IF cutEpochs # epochs /\ EpochsCutAtOnce THEN EpochWrite ELSE <<>>)
                \o <<Do("checkpoint", cut), Do("returned", 0)>>
     /\ tasks' = IF cutEpochs # epochs /\ ~EpochsCutAtOnce
                 THEN Append(tasks, Do("epochs", 0)) ELSE tasks
     /\ epochs' = cutEpochs
     /\ may' = {Prefix(log, k) : k \in offset..Len(log)}
     /\ promised' = MinOf(promised, offset)
     /\ UNCHANGED <<disk, up, recoveryPoint, namesChanged, log, known, loaded>>

(* D19 *)
Stops ==
  LET bases == Segments(disk)
  IN /\ todo' = Syncs(Between(disk, recoveryPoint, EndOf(disk) + 1))
                \o <<Do("syncFolder", 0), Do("flushed", EndOf(disk)), Do("close", Active(disk))>>
                \o (IF TrimsBeforeSync THEN Syncs(bases) \o <<Do("syncFolder", 0)>> ELSE <<>>)
                \o <<Do("checkpoint", EndOf(disk)), Do("mark", 0), Do("down", 0)>>
     /\ tasks' = <<>>
     /\ UNCHANGED <<disk, up, recoveryPoint, epochs, namesChanged, ghosts>>

(* D20.  A kill may have come between the two: a start syncs, whatever it   *)
(* finds.                                                                   *)
Unmarks ==
  (IF disk.marker THEN <<Do("unmark", 0)>> ELSE <<>>)
  \o (IF MarkerRemovalSynced THEN <<Do("syncRoot", 0)>> ELSE <<>>)

Starts ==
  /\ ~up /\ todo = <<>>
  /\ todo' = (IF MarkerGoesFirst THEN Unmarks ELSE <<>>)
             \o <<Do(IF disk.marker THEN "load" ELSE "recover", 0), Do("open", 0)>>
             \o (IF EpochsCutAtOnce THEN EpochWrite ELSE <<>>)
             \o (IF ~MarkerGoesFirst THEN Unmarks ELSE <<>>)
             \o <<Do("up", 0)>>
  /\ UNCHANGED <<disk, memory, ghosts>>

-----------------------------------------------------------------------------
(* Recovery, D17: of a segment what is whole and fits; the first that is    *)
(* cut, or does not join, takes all later ones with it.                     *)

RECURSIVE Whole(_, _)
Whole(data, before) ==
  IF data = <<>> \/ data[1] = Bad \/ ~Fits(data[1], before) THEN <<>>
  ELSE <<data[1]>> \o Whole(Tail(data), data[1])

RECURSIVE Assigned(_, _, _)
Assigned(cache, data, offset) ==
  IF data = <<>> THEN cache
  ELSE Assigned(IF AssignsEpoch(data[1].epoch, LatestIn(cache))
                THEN CacheAssign(cache, data[1].epoch, offset) ELSE cache,
                Tail(data), offset + 1)

LastIn(data) == IF data = <<>> THEN NoBatch ELSE data[Len(data)]

(* The segments that stay, each [base, data]; and the epochs.               *)
RECURSIVE Recovered(_, _, _, _)
Recovered(bases, point, kept, cache) ==
  IF bases = <<>> THEN [kept |-> kept, epochs |-> cache]
  ELSE LET base == bases[1]
           data == DataOf(disk, base)
           last == kept[Len(kept)]
           end == last.base + Len(last.data)
           before == IF kept = <<>> THEN NoBatch ELSE LastIn(last.data)
           rises == data # <<>> /\ [epoch |-> data[1].epoch, start |-> base] \in
                      {cache[i] : i \in 1..Len(cache)}
           whole == Whole(data, before)
           after == Assigned(cache, whole, base)
       IN IF \E i \in 1..Len(bases) - 1 : bases[i + 1] <= point
          THEN Recovered(Tail(bases), point, Append(kept, [base |-> base, data |-> data]), cache)
          ELSE IF /\ kept # <<>> /\ base > point
                  /\ ~Joins(base, end, data # <<>> \/ Len(bases) > 1, rises)
          THEN [kept |-> kept, epochs |-> cache]
          ELSE IF whole # data
          THEN [kept |-> Append(kept, [base |-> base, data |-> whole]), epochs |-> after]
          ELSE Recovered(Tail(bases), point, Append(kept, [base |-> base, data |-> whole]), after)

RECURSIVE Rewritten(_, _, _)
Rewritten(d, kept, point) ==
  IF kept = <<>> THEN d
  ELSE LET base == kept[1].base
           same == DataOf(d, base) = kept[1].data
           later == {kept[i].base : i \in 2..Len(kept)}
           touched == ~\E b \in later : b <= point
           written == IF same THEN d ELSE Write(d, base, kept[1].data)
       IN Rewritten(IF touched THEN PutIndex(written, base, Closed) ELSE d, Tail(kept), point)

RECURSIVE Dropped(_, _)
Dropped(d, bases) == IF bases = <<>> THEN d ELSE Dropped(Unlink(d, bases[1]), Tail(bases))

RECURSIVE Joined(_)
Joined(kept) == IF kept = <<>> THEN <<>> ELSE kept[1].data \o Joined(Tail(kept))

(* What a start that trusts its segments finds in them.                     *)
KeptAsIs == [i \in 1..Len(Segments(disk)) |->
               [base |-> Segments(disk)[i], data |-> DataOf(disk, Segments(disk)[i])]]

HoleIn(kept) ==
  \E i \in 2..Len(kept) : kept[i].base # kept[i - 1].base + Len(kept[i - 1].data)

(* What is left of a disk without a segment.                                *)
NotEmpty(d) == IF Segments(d) = <<>> THEN Create(d, 0) ELSE d

Loads(clean) ==
  LET point == disk.checkpoint
      found == IF clean THEN [kept |-> KeptAsIs, epochs |-> disk.epochs]
               ELSE Recovered(Segments(disk), point, <<>>, disk.epochs)
      bases == {found.kept[i].base : i \in 1..Len(found.kept)}
      gone == SelectSeq(Segments(disk), LAMBDA b : b \notin bases)
      after == NotEmpty(Dropped(
                 IF clean THEN disk ELSE Rewritten(disk, found.kept, point), gone))
      end == EndOf(after)
      data == Joined(found.kept)
  IN /\ disk' = after
     /\ epochs' = CacheTruncate(found.epochs, end)
     /\ recoveryPoint' = RecoveryPoint(point, end, clean)
     /\ namesChanged' = TRUE
     /\ tasks' = IF CacheTruncate(found.epochs, end) # disk.epochs /\ ~EpochsCutAtOnce
                 THEN <<Do("epochs", 0)>> ELSE <<>>
     /\ loaded' = [judged |-> TRUE, hole |-> HoleIn(found.kept),
                   open |-> {b \in bases : /\ DataOf(after, b) # <<>>
                                          /\ after.files[FileOf(after, b)].index # Closed}]
     /\ log' = data
     /\ UNCHANGED <<up, known, may, promised>>

-----------------------------------------------------------------------------
(* One step of what is to do.                                               *)

Touches(d) == /\ disk' = d /\ UNCHANGED <<memory, ghosts>>

Runs ==
  LET step == todo[1]
  IN /\ todo # <<>>
     /\ todo' = Tail(todo)
     /\ CASE step.op = "sync" -> Touches(Sync(disk, step.at))
          [] step.op = "syncFolder" ->
               /\ disk' = SyncFolder(disk, EpochFileSynced)
               /\ namesChanged' = FALSE
               /\ UNCHANGED <<up, recoveryPoint, epochs, tasks, ghosts>>
          [] step.op = "create" ->
               /\ disk' = Create(disk, step.at) /\ namesChanged' = TRUE
               /\ UNCHANGED <<up, recoveryPoint, epochs, tasks, ghosts>>
          [] step.op = "unlink" ->
               /\ disk' = Unlink(disk, step.at) /\ namesChanged' = TRUE
               /\ UNCHANGED <<up, recoveryPoint, epochs, tasks, ghosts>>
          [] step.op = "close" -> Touches(PutIndex(disk, step.at, Closed))
          [] step.op = "epochs" -> Touches(WriteEpochs(disk, epochs, EpochFileSynced))
          [] step.op = "checkpoint" -> Touches(Checkpoint(disk, step.at))
          [] step.op = "mark" -> Touches(Mark(disk, TRUE))
          [] step.op = "unmark" -> Touches(Mark(disk, FALSE))
          [] step.op = "syncRoot" -> Touches(SyncRoot(disk))
          [] step.op = "open" -> Touches(PutIndex(disk, Active(disk), Open))
          [] step.op = "write" ->
               LET base == Active(disk)
               IN /\ disk' = Write(disk, base, Append(DataOf(disk, base), step.batch))
                  /\ log' = Append(log, step.batch) /\ may' = {log'}
                  /\ known' = Remembered(known, log')
                  /\ UNCHANGED <<memory, promised, loaded>>
          [] step.op = "cut" ->
               LET offset == step.batch.value
               IN /\ disk' = PutIndex(Write(disk, step.at,
                               Prefix(DataOf(disk, step.at), offset - step.at)), step.at, Open)
                  /\ recoveryPoint' = RecoveryPointCut(recoveryPoint, offset)
                  /\ log' = Prefix(log, offset)
                  /\ UNCHANGED <<up, epochs, namesChanged, tasks, known, may, promised, loaded>>
          [] step.op = "returned" ->
               /\ may' = {log} /\ UNCHANGED <<disk, memory, log, known, promised, loaded>>
          [] step.op = "flushed" ->
               /\ recoveryPoint' = MaxOf(recoveryPoint, FlushedUpto(step.at, EndOf(disk)))
               /\ promised' = MaxOf(promised, recoveryPoint')
               /\ UNCHANGED <<disk, up, epochs, namesChanged, tasks, log, known, may, loaded>>
          [] step.op = "down" ->
               /\ up' = FALSE
               /\ UNCHANGED <<disk, recoveryPoint, epochs, namesChanged, tasks, ghosts>>
          [] step.op = "load" -> Loads(TRUE)
          [] step.op = "recover" -> Loads(FALSE)
          [] step.op = "up" ->
               /\ up' = TRUE /\ may' = {log} /\ promised' = recoveryPoint
               /\ known' = Remembered(known, log) /\ loaded' = NothingLoaded
               /\ UNCHANGED <<disk, recoveryPoint, epochs, namesChanged, tasks, log>>

(* The log is then the one before the crash, until the next start has       *)
(* loaded it. A crash during a start does not change that.                  *)
Crashes(left) ==
  /\ disk' = left
  /\ up' = FALSE /\ todo' = <<>> /\ tasks' = <<>>
  /\ recoveryPoint' = 0 /\ epochs' = <<>> /\ namesChanged' = FALSE
  /\ loaded' = NothingLoaded
  /\ log' = <<>> /\ UNCHANGED <<known, may, promised>>
=============================================================================
