--------------------------- MODULE CompactionRules ---------------------------
(***************************************************************************)
(* Every named decision of a broker about a replica of a compacted          *)
(* partition: what its cleaner may clean, what it keeps, and what a load    *)
(* reads (LogCleaner, Cleaner, CoordinatorLoaderImpl). The Python twin is   *)
(* reference/partition/compaction/rules.py.                                           *)
(*                                                                          *)
(* Offsets and ends count batches.                                          *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Replicas,   \* the brokers that have one
  Keys        \* numbers above 0

ActiveSegment(row) == CHOOSE s \in row.segments : \A other \in row.segments : s >= other

(* The cleaner leaves the active segment alone, and what is not committed   *)
(* (LogCleanerManager.cleanableOffsets).                                    *)
CleanableEnd(row, highWatermark) ==
  IF ActiveSegment(row) < highWatermark THEN ActiveSegment(row) ELSE highWatermark

(* A record goes when a later one in what is cleaned now has its key        *)
(* (Cleaner.shouldRetainRecord, of the offsets that buildOffsetMap took of  *)
(* the dirty section).                                                      *)
IsSuperseded(row, at, key) ==
  \E later \in (row.cleaned + 1)..row.cleanTo : later > at /\ key \in row.log[later].kept

(* A tombstone stays for delete.retention.ms from the first cleaning on     *)
(* that came by it (KIP-534).  expired: up to where the time is over.       *)
MayDropTombstone(row, at, expired) == at \in row.aged /\ at <= expired

(* A load continues at the next batch that still has records, or has read   *)
(* everything.                                                              *)
NextToRead(row) ==
  LET unread == {at \in (row.position + 1)..Len(row.log) : row.log[at].kept # {}}
  IN IF unread = {} THEN 0 ELSE CHOOSE at \in unread : \A other \in unread : at <= other

(* A follower has what it is sent under the offsets of its leader, and so   *)
(* its log the holes that those leave (UnifiedLog.appendAsFollower).        *)
CopiedBatches(batches) == batches
=============================================================================
