---------------------------- MODULE StorageDisk -----------------------------
(***************************************************************************)
(* A log directory, and what a crash may leave of it: pure operators.  The  *)
(* Python twin is reference/storage/disk.py.                                *)
(*                                                                          *)
(* A disk is [files, names, pending, marker, markerMay, checkpoint, epochs, *)
(* epochsMay].  files: of each file number [data, durable, low, high,       *)
(* index, indexMay]: batches as they were written and as they were last     *)
(* synced, the least and the greatest length since, and whether its indexes *)
(* end with their last entry (Closed) or with room, zeros (Open): as it is, *)
(* and as it may be.  names: which file has the name of a segment's base;   *)
(* pending: the changes of names since the folder was synced.  The marker   *)
(* of a clean stop, and the entries of the epoch file: as they are, and may *)
(* be.  A checkpoint is replaced at once (D6).                              *)
(*                                                                          *)
(* A batch is one record [epoch, value], and a piece that is written whole  *)
(* or not at all.                                                           *)
(***************************************************************************)
EXTENDS ReplicaLog

CONSTANT Ordered  \* Whether changes of names happen in their order, or any of them (free).

Bad == [epoch |-> -1, value |-> -1]    \* zeros, or what is torn
NoFile == 0
Closed == "Closed"
Open == "Open"

NewFile ==
  [data |-> <<>>, durable |-> <<>>, low |-> 0, high |-> 0, index |-> Open, indexMay |-> {Open}]

EmptyDisk ==
  [files |-> <<>>, names |-> <<>>, pending |-> <<>>, marker |-> FALSE, markerMay |-> {FALSE},
   checkpoint |-> 0, epochs |-> <<>>, epochsMay |-> {<<>>}]

-----------------------------------------------------------------------------
(* Names: a sequence of [base, file], ascending by base.                    *)

BasesOf(names) == {names[i].base : i \in 1..Len(names)}
FileIn(names, base) ==
  LET found == {i \in 1..Len(names) : names[i].base = base}
  IN IF found = {} THEN NoFile ELSE names[CHOOSE i \in found : TRUE].file

Named(names, change) ==
  LET below == SelectSeq(names, LAMBDA e : e.base < change.base)
      above == SelectSeq(names, LAMBDA e : e.base > change.base)
  IN below \o (IF change.file = NoFile THEN <<>> ELSE <<change>>) \o above

RECURSIVE NamedAll(_, _)
NamedAll(names, changes) ==
  IF changes = <<>> THEN names ELSE NamedAll(Named(names, changes[1]), Tail(changes))

NamesNow(disk) == NamedAll(disk.names, disk.pending)
FileOf(disk, base) == FileIn(NamesNow(disk), base)
Segments(disk) == [i \in 1..Len(NamesNow(disk)) |-> NamesNow(disk)[i].base]

-----------------------------------------------------------------------------
(* What is done.                                                            *)

Create(disk, base) ==
  [disk EXCEPT !.files = Append(@, NewFile),
               !.pending = Append(@, [base |-> base, file |-> Len(disk.files) + 1])]

Unlink(disk, base) == [disk EXCEPT !.pending = Append(@, [base |-> base, file |-> NoFile])]

Put(file, data) ==
  [file EXCEPT !.data = data, !.low = MinOf(@, Len(data)), !.high = MaxOf(@, Len(data))]

Write(disk, base, data) == [disk EXCEPT !.files[FileOf(disk, base)] = Put(@, data)]

PutIndex(disk, base, as) ==
  [disk EXCEPT !.files[FileOf(disk, base)].index = as,
               !.files[FileOf(disk, base)].indexMay = @ \cup {as}]

Sync(disk, base) ==
  LET f == FileOf(disk, base)
      data == disk.files[f].data
  IN [disk EXCEPT !.files[f].durable = data, !.files[f].low = Len(data),
                  !.files[f].high = Len(data), !.files[f].indexMay = {disk.files[f].index}]

(* Also the name of the epoch file; its content, if it was synced before.   *)
SyncFolder(disk, contentSynced) ==
  [disk EXCEPT !.names = NamesNow(disk), !.pending = <<>>,
               !.epochsMay = {disk.epochs} \cup (IF contentSynced THEN {} ELSE @ \cap {<<>>})]

(* A new epoch file takes the name; an empty one does if it was not synced. *)
WriteEpochs(disk, epochs, contentSynced) ==
  [disk EXCEPT !.epochs = epochs,
               !.epochsMay = @ \cup {epochs} \cup (IF contentSynced THEN {} ELSE {<<>>})]

Mark(disk, there) == [disk EXCEPT !.marker = there, !.markerMay = @ \cup {there}]
SyncRoot(disk) == [disk EXCEPT !.markerMay = {disk.marker}]

(* A checkpoint lies beside the marker, and its folder is synced.           *)
Checkpoint(disk, offset) == [SyncRoot(disk) EXCEPT !.checkpoint = offset]

-----------------------------------------------------------------------------
(* Crashes.                                                                 *)

Slot(file, i) ==
  (IF i <= Len(file.data) THEN {file.data[i]} ELSE {}) \cup
  {IF i <= Len(file.durable) THEN file.durable[i] ELSE Bad}

(* The records before the first bad one, which hides the rest.              *)
RECURSIVE UptoBad(_)
UptoBad(data) ==
  IF data = <<>> \/ data[1] = Bad THEN SubSeq(data, 1, MinOf(1, Len(data)))
  ELSE <<data[1]>> \o UptoBad(Tail(data))

ContentsOf(file) ==
  {UptoBad(data) : data \in UNION {
     {d \in [1..n -> UNION {Slot(file, i) : i \in 1..n}] : \A i \in 1..n : d[i] \in Slot(file, i)} :
     n \in file.low..file.high}}

Settled(file, data, index) ==
  [data |-> data, durable |-> data, low |-> Len(data), high |-> Len(data),
   index |-> index, indexMay |-> {index}]

Kept(pending) ==
  IF Ordered THEN {SubSeq(pending, 1, n) : n \in 0..Len(pending)}
  ELSE {LET Taken[i \in 0..Len(pending)] ==
              IF i = 0 THEN <<>>
              ELSE IF i \in chosen THEN Append(Taken[i - 1], pending[i]) ELSE Taken[i - 1]
        IN Taken[Len(pending)] : chosen \in SUBSET (1..Len(pending))}

(* Files are numbered again, by their names.                                *)
Renumbered(disk, names, content) ==
  [EmptyDisk EXCEPT
     !.files = [i \in 1..Len(names) |-> content[i]],
     !.names = [i \in 1..Len(names) |-> [base |-> names[i].base, file |-> i]],
     !.checkpoint = disk.checkpoint]

RECURSIVE Choices(_, _)
Choices(disk, names) ==
  IF names = <<>> THEN {<<>>}
  ELSE LET file == disk.files[names[1].file]
       IN {<<Settled(file, data, index)>> \o rest :
             data \in ContentsOf(file), index \in file.indexMay,
             rest \in Choices(disk, Tail(names))}

(* The machine loses power: what no sync has covered may be there or not.   *)
PowerLosses(disk) ==
  {[Renumbered(disk, each[1], each[2]) EXCEPT
      !.marker = marker, !.markerMay = {marker}, !.epochs = epochs, !.epochsMay = {epochs}] :
     each \in UNION {{<<names, content>> : content \in Choices(disk, names)} :
                     names \in {NamedAll(disk.names, kept) : kept \in Kept(disk.pending)}},
     marker \in disk.markerMay, epochs \in disk.epochsMay}
=============================================================================
