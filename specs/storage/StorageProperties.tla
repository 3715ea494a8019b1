------------------------- MODULE StorageProperties --------------------------
(***************************************************************************)
(* Named properties of a log on disk after a start that follows any crash.  *)
(* docs/reference/storage.md and reference/storage/promises.py use the     *)
(* same names.                                                             *)
(***************************************************************************)
EXTENDS StorageOrders

Judged == loaded.judged   \* A start has read the log, and is not at work yet.

(* After a start the log is a prefix of a log that existed. Misses: which   *)
(* prefix (see FlushedSurvives).                                            *)
RecoveredIsPrefix == Judged => \E l \in known \cup may : IsPrefixOf(log, l)

(* After a start all flushed records are present, unless they were          *)
(* truncated. Misses: records that were never flushed.                      *)
FlushedSurvives ==
  Judged => \E l \in may : IsPrefixOf(Prefix(l, MinOf(promised, Len(l))), log)

(* After a start no offset is missing between segments. Misses: a missing   *)
(* end.                                                                     *)
NoHole == ~loaded.hole

(* Leader epochs never decrease along the log. Misses: a wrong epoch that   *)
(* keeps this order.                                                        *)
EpochsAscend == \A i \in 2..Len(log) : log[i - 1].epoch <= log[i].epoch

(* The epoch file has the epochs of the log, and at most one more that      *)
(* begins at its end. Misses: a wrong log with the matching file.           *)
EpochCacheSound ==
  Judged \/ (up /\ todo = <<>>) =>
     SelectSeq(epochs, LAMBDA e : e.start < Len(log)) = CacheOf(log)

(* A segment that a start trusts has its last index entries. Retention uses *)
(* them, and would read zeros as a very old time. Misses: entries in the    *)
(* middle of an index.                                                      *)
IndexLowerBound == loaded.open = {}

LogStep ==
  /\ (up /\ up') =>
       \/ log' = log
       \/ /\ log' # <<>> /\ log' = Append(log, log'[Len(log')])
          /\ log'[Len(log')].epoch = LatestIn(epochs)
       \/ \E offset \in 0..Len(log) : log' = Prefix(log, offset)
  /\ (~up /\ up') =>
       \E l \in may : \E keep \in MinOf(promised, Len(l))..Len(l) : log' = Prefix(l, keep)
(* The engine implements the log of a partition's row. A running broker     *)
(* appends or truncates; a restarted one has kept all flushed records and   *)
(* part of the others (the input `keep` of BrokerCrash). Misses:            *)
(* compaction, which is no step of that log.                                *)
RefinesLog == [][LogStep]_vars
=============================================================================
