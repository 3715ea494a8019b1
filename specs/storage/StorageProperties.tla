------------------------- MODULE StorageProperties --------------------------
(***************************************************************************)
(* What is promised of a log on disk: after a start, whatever a crash left. *)
(* The names are those of docs/storage.md and reference/storage/promises.py.*)
(***************************************************************************)
EXTENDS StorageOrders

Judged == loaded.judged   \* A start has read the log, and is not at work yet.

(* What is there was the log at some time, or a beginning of it.            *)
RecoveredIsPrefix == Judged => \E l \in known \cup may : IsPrefixOf(log, l)

(* What was flushed is there, unless it was cut.                            *)
FlushedSurvives ==
  Judged => \E l \in may : IsPrefixOf(Prefix(l, MinOf(promised, Len(l))), log)

NoHole == ~loaded.hole

EpochsAscend == \A i \in 2..Len(log) : log[i - 1].epoch <= log[i].epoch

(* The epochs are those of the log, and at most one that begins at its end. *)
EpochCacheSound ==
  Judged \/ (up /\ todo = <<>>) =>
     SelectSeq(epochs, LAMBDA e : e.start < Len(log)) = CacheOf(log)

(* A segment that a start trusts has its last entries: retention goes by    *)
(* them, and would take zeros for a time long ago.                          *)
IndexLowerBound == loaded.open = {}

(* The engine is a log, as the row of a partition has it: a broker at work  *)
(* appends, or cuts; and one that comes back has kept what was flushed, and *)
(* of the rest as much as it may be (the input `keep` of BrokerCrash).      *)
LogStep ==
  /\ (up /\ up') =>
       \/ log' = log
       \/ /\ log' # <<>> /\ log' = Append(log, log'[Len(log')])
          /\ log'[Len(log')].epoch = LatestIn(epochs)
       \/ \E offset \in 0..Len(log) : log' = Prefix(log, offset)
  /\ (~up /\ up') =>
       \E l \in may : \E keep \in MinOf(promised, Len(l))..Len(l) : log' = Prefix(l, keep)
RefinesLog == [][LogStep]_vars
=============================================================================
