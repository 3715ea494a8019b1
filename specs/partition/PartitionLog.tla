---------------------------- MODULE PartitionLog ----------------------------
(***************************************************************************)
(* Pure operators on the log of a partition, beside those of ReplicaLog:    *)
(* records with producer ids, a start that moves, and the producer state    *)
(* that a log implies.  The Python twin is reference/partition/log.py.      *)
(*                                                                          *)
(* A record is [epoch, value, producer, producerEpoch, sequence, first,     *)
(* last]: its producer, its sequence number, and the first and last of its  *)
(* batch. All except epoch and value are -1 without idempotence. A log is a *)
(* sequence from offset 0; records below the log start are Gone. Batches    *)
(* stay whole: they are read, copied and truncated as one.                  *)
(***************************************************************************)
EXTENDS ReplicaLog

Gone == [epoch |-> -1, value |-> -1, producer |-> -1, producerEpoch |-> -1,
         sequence |-> -1, first |-> -1, last |-> -1]
Corrupt == -2             \* the value of a record whose batch fails its checksum

NoPending == [kind |-> "None", isr |-> {}, refused |-> FALSE]
NoRequest == [type |-> "None"]
NoDivergence == [epoch |-> Undefined, endOffset |-> Undefined]

EndsBatch(record) == record.sequence = record.last

(* The epoch of the last record or of the leader's own, -1 when none.       *)
LastEpochOf(cache) == IF cache = <<>> THEN Undefined ELSE cache[Len(cache)].epoch

(* The log whose start is `start`.                                          *)
Trimmed(log, start) == [i \in 1..Len(log) |-> IF i <= start THEN Gone ELSE log[i]]

(* A log that has nothing and starts at `start`.                            *)
EmptyLogAt(start) == [i \in 1..start |-> Gone]

(* P12 truncateFromStart: the covering epoch begins at the new start.       *)
CacheTrimmed(cache, start) ==
  LET kept == SelectSeq(cache, LAMBDA e : e.start > start)
      below == SelectSeq(cache, LAMBDA e : e.start <= start)
  IN IF below = <<>> THEN kept
     ELSE <<[epoch |-> below[Len(below)].epoch, start |-> start]>> \o kept

(* P13: the end offset for an epoch, or [-1, -1] where the log has no say.  *)
EndOffsetFor(cache, end, epoch) ==
  LET below == SelectSeq(cache, LAMBDA e : e.epoch <= epoch)
      above == SelectSeq(cache, LAMBDA e : e.epoch > epoch)
  IN CASE epoch = Undefined -> NoDivergence
       [] cache # <<>> /\ cache[Len(cache)].epoch = epoch -> [epoch |-> epoch, endOffset |-> end]
       [] above = <<>> -> NoDivergence
       [] below = <<>> -> [epoch |-> epoch, endOffset |-> above[1].start]
       [] OTHER -> [epoch |-> below[Len(below)].epoch, endOffset |-> above[1].start]

(* The records from `offset` on that one fetch returns: `limit` of them and *)
(* the rest of the last batch, none at or above `end`.                      *)
RECURSIVE BatchesUpTo(_, _, _)
BatchesUpTo(log, last, end) ==
  IF last >= end \/ EndsBatch(log[last]) THEN MinOf(last, end)
  ELSE BatchesUpTo(log, last + 1, end)

BatchesFrom(log, offset, end, limit) ==
  IF offset >= end THEN <<>>
  ELSE SubSeq(log, offset + 1, BatchesUpTo(log, MinOf(end, offset + limit), end))

-----------------------------------------------------------------------------
(* Producer state: T1 to T3.  A set of [producer, epoch, batches]; a batch  *)
(* is [first, last, offset]: its sequence numbers and its first offset.     *)

StateOf(producers, producer) == {s \in producers : s.producer = producer}

LastSequence(state) == state.batches[Len(state.batches)].last

(* T2, T3.                                                                  *)
SequenceError(producers, m) ==
  LET states == StateOf(producers, m.producer)
      state == CHOOSE s \in states : TRUE
  IN CASE m.producer = Undefined \/ states = {} -> "NONE"
       [] m.producerEpoch < state.epoch -> "INVALID_PRODUCER_EPOCH"
       [] m.producerEpoch > state.epoch ->
            IF m.sequence = 0 THEN "NONE" ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"
       [] m.sequence = LastSequence(state) + 1 -> "NONE"
       [] OTHER -> "OUT_OF_ORDER_SEQUENCE_NUMBER"

(* T1: the first offset of the same batch if it is remembered, or -1.       *)
DuplicateIn(producers, m) ==
  LET same == {s \in StateOf(producers, m.producer) : s.epoch = m.producerEpoch}
      batches == UNION {{s.batches[i] : i \in 1..Len(s.batches)} : s \in same}
      equal == {b \in batches : b.first = m.sequence /\ b.last = m.sequence + Len(m.values) - 1}
  IN IF m.producer = Undefined \/ equal = {} THEN Undefined
     ELSE (CHOOSE b \in equal : TRUE).offset

(* The state after a batch of `count` records at `offset`.                  *)
ProducersAfterAppend(producers, producer, epoch, sequence, count, offset, kept) ==
  LET old == StateOf(producers, producer)
      state == CHOOSE s \in old : TRUE
      batch == [first |-> sequence, last |-> sequence + count - 1, offset |-> offset]
      before == IF old = {} \/ state.epoch # epoch THEN <<>> ELSE state.batches
      all == Append(before, batch)
      latest == SubSeq(all, MaxOf(1, Len(all) - kept + 1), Len(all))
  IN IF producer = Undefined THEN producers
     ELSE (producers \ old) \cup {[producer |-> producer, epoch |-> epoch, batches |-> latest]}

RECURSIVE ProducersFrom(_, _, _, _)
ProducersFrom(producers, log, i, kept) ==
  IF i > Len(log) THEN producers
  ELSE LET record == log[i]
           count == record.last - record.first + 1
           after == IF EndsBatch(record)
                    THEN ProducersAfterAppend(producers, record.producer, record.producerEpoch,
                                              record.first, count, i - count, kept)
                    ELSE producers
       IN \* Asked for a value here, TLC does not put all work off to the last record.
          IF after = {} THEN ProducersFrom({}, log, i + 1, kept)
          ELSE ProducersFrom(after, log, i + 1, kept)

(* The state that a log implies.                                            *)
ProducersOf(log, kept) == ProducersFrom({}, log, 1, kept)
=============================================================================
