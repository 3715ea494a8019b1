------------------------------ MODULE Compaction ------------------------------
(***************************************************************************)
(* A broker's replica of a compacted partition: it is cleaned segment by    *)
(* segment, by this broker and when it likes, while the leader appends,     *)
(* followers fetch, and a coordinator that was elected reads it.            *)
(* Twin: reference/partition/compaction/handlers.py.                                  *)
(*                                                                          *)
(* What the partition does with the replica (specs/partition) are inputs:   *)
(* batches are appended and copied, and what another leader does not have   *)
(* is cut.  The partition's rules ask of a record for its offset and its    *)
(* epoch alone, and cleaning changes neither where a log ends nor its high  *)
(* watermark nor which epoch began where; so they know nothing of it.       *)
(*                                                                          *)
(* A batch has an offset, a value that names it, the keys that it was       *)
(* written with, those of them that it removes (tombstones), and those that *)
(* are kept: a batch without any is a hole.                                 *)
(*                                                                          *)
(* Left out: which epochs a follower learns of that fetches over a hole     *)
(* (docs/reference/joins.md), the limit of what is cleaned by age           *)
(* (min.compaction.lag.ms), transactions' markers in the log.               *)
(***************************************************************************)
EXTENDS CompactionRules

(***************************************************************************)
(* The row.                                                                 *)
(*   log             durable: what was written, as the partition has it,    *)
(*                   and what is left of it                                 *)
(*   aged            durable: the batches that a cleaning came by, after    *)
(*                   which their tombstones stay for a while                *)
(*   segments        durable: where segments begin; the last one is active  *)
(*   cleaned         durable: up to here it is clean (the checkpoint)       *)
(*   covered         durable: what lies before it may be superseded by what *)
(*                   lies up to here, in a cleaning here or at a leader     *)
(*   highWatermark   the largest that the cleaner knows                     *)
(*   cleanTo         volatile: up to where it cleans now, or 0              *)
(*   cleanNext       volatile: the segment that it cleans next              *)
(*   state           volatile: "Idle", or a coordinator is "Loading" or has *)
(*                   "Loaded" it                                            *)
(*   position        volatile: up to here it has read                       *)
(*   loaded          volatile: [key, value]: the batch that counts          *)
(***************************************************************************)
InitialRow(n) ==
  [log |-> <<>>, aged |-> {}, segments |-> {0}, cleaned |-> 0, covered |-> 0,
   highWatermark |-> 0, cleanTo |-> 0, cleanNext |-> 0, state |-> "Idle", position |-> 0,
   loaded |-> {}]

Made(row) == {[row |-> row, sent |-> {}, ignored |-> ""]}
If(enabled, row) == IF enabled THEN Made(row) ELSE {}

-----------------------------------------------------------------------------

Larger(a, b) == IF a > b THEN a ELSE b

NotCleaning(row) == [row EXCEPT !.cleanTo = 0, !.cleanNext = 0]
NotRead(row) == [row EXCEPT !.state = "Idle", !.position = 0, !.loaded = {}]

Replayed(known, batch) ==
  {each \in known : each.key \notin batch.kept}
    \cup {[key |-> k, value |-> batch.value] : k \in batch.kept \ batch.removed}

IsBatch(batch) ==
  /\ batch.keys # {}
  /\ batch.keys \subseteq Keys
  /\ batch.removed \cup batch.kept \subseteq batch.keys

(* Where the segment ends that begins here.                                 *)
EndOfSegment(row, begin) ==
  LET later == {s \in row.segments : s > begin}
  IN IF later = {} THEN Len(row.log) ELSE CHOOSE s \in later : \A other \in later : s <= other

KeptOf(row, at, expired) ==
  {k \in row.log[at].kept :
     /\ ~IsSuperseded(row, at, k)
     /\ ~(k \in row.log[at].removed /\ MayDropTombstone(row, at, expired))}

-----------------------------------------------------------------------------
(* What the partition does with the replica.                                *)

(* The coordinator writes: the batch is appended, and replayed (G2).        *)
Step_HandleAppendBatch(n, row, input) ==
  LET batch == input.batch
  IN If(/\ row.state = "Loaded" /\ IsBatch(batch)
        /\ batch.kept = batch.keys /\ batch.offset = Len(row.log),
        [row EXCEPT !.log = Append(@, batch), !.position = @ + 1, !.loaded = Replayed(@, batch)])

(* A follower fetches what its leader has left of some batches.  covered:   *)
(* that of the leader.                                                      *)
Step_HandleCopyBatches(n, row, input) ==
  If(/\ row.state = "Idle"
     /\ \A i \in 1..Len(input.batches) :
          IsBatch(input.batches[i]) /\ input.batches[i].offset = Len(row.log) + i - 1,
     [row EXCEPT !.log = @ \o CopiedBatches(input.batches),
                 !.covered = Larger(@, input.covered)])

(* What another leader does not have is cut; a cleaning is given up for it  *)
(* (LogManager.truncateTo).                                                 *)
Step_HandleCutReplica(n, row, input) ==
  LET to == input.to
      cut == [row EXCEPT !.log = SubSeq(@, 1, to),
                         !.aged = {at \in @ : at <= to},
                         !.segments = {s \in @ : s = 0 \/ s < to},
                         !.cleaned = IF @ > to THEN to ELSE @]
  IN If(row.state = "Idle" /\ to >= 0 /\ to < Len(row.log), NotCleaning(cut))

(* The process ends.                                                        *)
Step_HandleReplicaCrash(n, row, input) ==
  If(row.state # "Idle" \/ row.cleanTo # 0, NotRead(NotCleaning(row)))

-----------------------------------------------------------------------------
(* Segments and their cleaner.                                              *)

Step_HandleRollSegment(n, row, input) ==
  If(ActiveSegment(row) < Len(row.log), [row EXCEPT !.segments = @ \cup {Len(row.log)}])

Step_HandleStartCleaning(n, row, input) ==
  LET to == CleanableEnd(row, input.highWatermark)
  IN If(row.cleanTo = 0 /\ input.highWatermark <= Len(row.log) /\ to > row.cleaned,
        [row EXCEPT !.cleanTo = to, !.cleanNext = 0,
                    !.highWatermark = Larger(@, input.highWatermark)])

(* A segment is written again and replaces the old one. expired: tombstones *)
(* below this offset may be removed.                                        *)
Step_HandleCleanSegment(n, row, input) ==
  LET segment == EndOfSegment(row, row.cleanNext)
      end == IF segment > row.cleanTo THEN row.cleanTo ELSE segment
      within == (row.cleanNext + 1)..end
      written == [row EXCEPT
                    !.log = [at \in 1..Len(@) |->
                               IF at \in within
                               THEN [@[at] EXCEPT !.kept = KeptOf(row, at, input.expired)]
                               ELSE @[at]],
                    !.aged = @ \cup {at \in within : row.log[at].removed # {}},
                    !.covered = Larger(@, row.cleanTo),
                    !.cleanNext = end]
  IN If(row.cleanTo # 0,
        IF end = row.cleanTo THEN [NotCleaning(written) EXCEPT !.cleaned = end] ELSE written)

-----------------------------------------------------------------------------
(* A coordinator loads the log (G6).                                        *)

Step_HandleStartLoading(n, row, input) ==
  If(row.state = "Idle", [row EXCEPT !.state = "Loading"])

Step_HandleReadBatch(n, row, input) ==
  LET at == NextToRead(row)
  IN If(row.state = "Loading",
        IF at = 0 THEN [row EXCEPT !.state = "Loaded", !.position = Len(row.log)]
        ELSE [row EXCEPT !.position = at, !.loaded = Replayed(@, row.log[at])])

(* The broker does not lead any more.                                       *)
Step_HandleUnload(n, row, input) == If(row.state # "Idle", NotRead(row))
=============================================================================
