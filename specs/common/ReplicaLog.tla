----------------------------- MODULE ReplicaLog -----------------------------
(***************************************************************************)
(* Pure operators on replicated logs, independent of roles, nodes and       *)
(* messages. The Python twin is reference/kit/log.py.                       *)
(*                                                                          *)
(* A log is a sequence of entries [epoch, value].  Offsets are 0-based and  *)
(* end offsets are exclusive, as in Kafka: offset o names log[o + 1].       *)
(* An epoch cache (leader-epoch-checkpoint, P12) is a sequence of           *)
(* [epoch, start], ascending in both fields: where each epoch begins.       *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

LeaderChange == 0         \* value of the control record that opens an epoch (Q9)
Undefined == -1           \* no such offset or epoch: Kafka's own sentinel

MinOf(a, b) == IF a < b THEN a ELSE b
MaxOf(a, b) == IF a > b THEN a ELSE b

EndOffset(log) == Len(log)

Prefix(log, offset) == SubSeq(log, 1, offset)

IsPrefixOf(shorter, longer) ==
  /\ Len(shorter) <= Len(longer)
  /\ SubSeq(longer, 1, Len(shorter)) = shorter

Agree(a, b, offset) == Prefix(a, offset) = Prefix(b, offset)

(* The records from `offset` on, at most `limit` of them, none at or above  *)
(* `end`.                                                                   *)
Slice(log, offset, end, limit) == SubSeq(log, offset + 1, MinOf(end, offset + limit))

(* The records of this epoch and of those before it.                        *)
UpToEpoch(records, epoch) == SelectSeq(records, LAMBDA record : record.epoch <= epoch)

-----------------------------------------------------------------------------
(* Epoch cache: P12, P13.                                                   *)

LatestEpoch(cache) == IF cache = <<>> THEN 0 ELSE cache[Len(cache)].epoch

(* P12 assign: the entry replaces every tail entry that it contradicts.     *)
CacheAssign(cache, epoch, start) ==
  IF cache # <<>> /\ cache[Len(cache)].epoch = epoch /\ cache[Len(cache)].start <= start
  THEN cache
  ELSE Append(SelectSeq(cache, LAMBDA e : e.epoch < epoch /\ e.start < start),
              [epoch |-> epoch, start |-> start])

(* P12 truncateFromEnd: drop the entries that start at or above `offset`.   *)
CacheTruncate(cache, offset) == SelectSeq(cache, LAMBDA e : e.start < offset)

(* The cache that a log implies.  The invariant EpochCacheSound compares it *)
(* with the one that the node keeps.                                        *)
RECURSIVE CacheOf(_)
CacheOf(log) ==
  IF log = <<>> THEN <<>>
  ELSE CacheAssign(CacheOf(SubSeq(log, 1, Len(log) - 1)), log[Len(log)].epoch, Len(log) - 1)

(* The cache after appending `records` at `offset`.                         *)
RECURSIVE CacheAppend(_, _, _)
CacheAppend(cache, offset, records) ==
  IF records = <<>> THEN cache
  ELSE CacheAppend(CacheAssign(cache, records[1].epoch, offset), offset + 1, Tail(records))

(* Q13, P13: the largest cached epoch at or below `epoch` and where it ends:*)
(* the start of the next cached epoch, or the log's end.  An epoch below    *)
(* every cached one ends, under its own name, where the first one begins.   *)
EndOffsetForEpoch(cache, end, epoch) ==
  LET below == SelectSeq(cache, LAMBDA e : e.epoch <= epoch)
      above == SelectSeq(cache, LAMBDA e : e.epoch > epoch)
  IN [epoch |-> IF below = <<>> /\ above # <<>> THEN epoch ELSE LatestEpoch(below),
      endOffset |-> IF above = <<>> THEN end ELSE above[1].start]
=============================================================================
