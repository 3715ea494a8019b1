--------------------------- MODULE HighWatermark ----------------------------
(***************************************************************************)
(* The data of a partition: produce, replication by fetch with divergence   *)
(* and truncation, the leader's and the follower's high watermark, reads    *)
(* (KIP-101, KIP-207, KIP-279, KIP-320, KIP-595; Kafka's Partition,         *)
(* UnifiedLog and AbstractFetcherThread).                                   *)
(*                                                                          *)
(* Left out are fetches that wait for data (replica.fetch.wait.max.ms = 0), *)
(* transactions and compaction. A follower whose fetch is out of range      *)
(* receives the log's end and start with the error, not by ListOffsets.     *)
(***************************************************************************)
EXTENDS IsrMembership

-----------------------------------------------------------------------------
(* Produce: P17 to P19.                                                     *)

RecordsOf(row, m) ==
  LET last == m.sequence + Len(m.values) - 1
  IN [i \in 1..Len(m.values) |->
        [epoch |-> row.leaderEpoch, value |-> m.values[i], producer |-> m.producer,
         producerEpoch |-> m.producerEpoch,
         sequence |-> IF m.producer = Undefined THEN Undefined ELSE m.sequence + i - 1,
         first |-> IF m.producer = Undefined THEN Undefined ELSE m.sequence,
         last |-> IF m.producer = Undefined THEN Undefined ELSE last]]

AppendedAsLeader(row, m) ==
  LET offset == EndOffset(row.log)
      records == RecordsOf(row, m)
  IN [row EXCEPT
        !.log = @ \o records,
        !.epochCache = CacheAppend(@, offset, records),
        !.producers = ProducersAfterAppend(@, m.producer, m.producerEpoch, m.sequence,
                                           Len(m.values), offset, BatchesKept)]

(* The response as the producer requested: none, at once, or when all       *)
(* in-sync replicas have the records (P18).                                 *)
AnswerProduce(n, row, m, offset) ==
  CASE m.acks = 0 -> AdvanceAndFinish(n, row, {})
    [] m.acks = 1 -> AdvanceAndFinish(n, row, {ProduceResponse(n, m, "NONE", offset)})
    [] OTHER ->
         AdvanceAndFinish(n,
           [row EXCEPT !.parked = @ \cup {[request |-> m, offset |-> offset,
                                           required |-> offset + Len(m.values)]}], {})

(* ACTION HandleProduceRequest                                              *)
(* WHO    a replica, for a client                                           *)
(* WHAT   A leader appends the batch, or finds that it is a duplicate, and  *)
(*        answers by the acks of the request; other replicas refuse (P17 to *)
(*        P19, T1 to T3).                                                   *)
Step_HandleProduceRequest(n, row, m) ==
  LET error == ProduceError(row, m)
      duplicate == IF row.role = "Leader" THEN DuplicateOffset(row, m) ELSE Undefined
      refused == IF m.acks = 0 THEN {} ELSE {ProduceResponse(n, m, error, Undefined)}
  IN CASE duplicate # Undefined /\ error \in {"NONE", "OUT_OF_ORDER_SEQUENCE_NUMBER"} ->
            AnswerProduce(n, row, m, duplicate)
       [] error # "NONE" /\ m.acks = 0 -> Ignore(row, error)
       [] error # "NONE" -> Outcome(row, refused)
       [] OTHER -> AnswerProduce(n, AppendedAsLeader(row, m), m, EndOffset(row.log))

(* ACTION HandleProduceTimeout                                              *)
(* WHO    a leader                                                          *)
(* WHAT   request.timeout.ms has passed for a waiting produce request. It   *)
(*        gets an error; the record may be committed later (P19).           *)
Step_HandleProduceTimeout(n, row, input) ==
  LET waiting == {p \in row.parked : p.request = input.request}
  IN IF waiting = {} THEN Disabled
     ELSE Outcome([row EXCEPT !.parked = @ \ waiting],
                  {ParkedResponse(n, p, "REQUEST_TIMED_OUT") : p \in waiting})

-----------------------------------------------------------------------------
(* Replication, the leader: P4, P5.                                         *)

ReplicaFetchResponse(n, row, m, error, records, diverging) ==
  [type |-> "ReplicaFetchResponse", source |-> n, destination |-> m.source, request |-> m,
   error |-> error, records |-> records, diverging |-> diverging,
   highWatermark |-> row.highWatermark, logStart |-> row.logStart,
   endOffset |-> IF error = "OFFSET_OUT_OF_RANGE" THEN EndOffset(row.log) ELSE Undefined]

(* P5.  What the leader notes of a valid fetch; then P9, then P6.           *)
Noted(n, row, m) ==
  LET old == row.remotes[m.source]
      new == [endOffset |-> m.fetchOffset, brokerEpoch |-> m.brokerEpoch,
              caughtUp |-> old.caughtUp \/ m.fetchOffset >= EndOffset(row.log),
              logStart |-> m.logStart]
      noted == MaybeExpandIsr(n, [row EXCEPT !.remotes[m.source] = new], m.source)
  IN IF old.endOffset = m.fetchOffset THEN noted ELSE Advanced(n, noted)

(* P9, Z170.  What comes of a fetch that is fenced: nothing is noted of it. *)
Fenced(n, row, m) ==
  IF ~(FencedFetchMayExpandIsr /\ row.role = "Leader") THEN row
  ELSE LET told == [row EXCEPT !.remotes[m.source].endOffset = m.fetchOffset]
       IN [row EXCEPT !.pending = MaybeExpandIsr(n, told, m.source).pending]

(* ACTION HandleReplicaFetchRequest                                         *)
(* WHO    a leader                                                          *)
(* WHAT   It checks a follower's fetch, records its end offset, may propose *)
(*        to add it to the ISR, advances the high watermark, and returns    *)
(*        records or the divergence (P4 to P6, P9).                         *)
Step_HandleReplicaFetchRequest(n, row, m) ==
  LET error == FetchEpochError(row, m)
      offsetError == FetchOffsetError(row, m)
      fail(why) ==
        Outcome(IF why = "FENCED_LEADER_EPOCH" THEN Fenced(n, row, m) ELSE row,
                {ReplicaFetchResponse(n, row, m, why, <<>>, NoDivergence)})
      diverging == IsDiverging(row, m)
      noted == IF MayUpdateFetchState(row, m) THEN Noted(n, row, m) ELSE row
      records == IF diverging THEN <<>>
                 ELSE BatchesFrom(row.log, m.fetchOffset, EndOffset(row.log), FetchMaxRecords)
      \* P4: the high watermark in the reply is the one before the fetch was noted.
      reply == ReplicaFetchResponse(n, row, m, "NONE", records,
                                    IF diverging THEN EpochEndFor(row, m) ELSE NoDivergence)
  IN CASE error # "NONE" -> fail(error)
       [] offsetError # "NONE" -> fail(offsetError)
       [] IsStaleReplica(row, m) -> fail("NOT_LEADER_OR_FOLLOWER")
       [] ~RecheckCompletion -> Outcome(noted, {reply})
       [] OTHER -> Outcome(WithoutReached(noted), {reply} \cup ReachedResponses(n, noted))

-----------------------------------------------------------------------------
(* Replication, the follower: P7, P14 to P16.                               *)

ReplicaFetchRequest(n, row) ==
  [type |-> "ReplicaFetchRequest", source |-> n, destination |-> row.leader,
   brokerEpoch |-> row.brokerEpoch, epoch |-> row.leaderEpoch,
   fetchOffset |-> EndOffset(row.log), lastFetchedEpoch |-> row.lastFetchedEpoch,
   logStart |-> row.logStart]

(* ACTION HandleSendReplicaFetch                                            *)
(* WHO    a follower                                                        *)
(* WHAT   It fetches from its log's end, with the epoch of its last record  *)
(*        (P4).                                                             *)
Step_HandleSendReplicaFetch(n, row, input) ==
  IF \/ ~IsUp(row) \/ row.role # "Follower" \/ row.leader = Nobody
     \/ \E m \in row.fetching : m.destination = row.leader
  THEN Disabled
  ELSE Outcome([row EXCEPT !.fetching = @ \cup {ReplicaFetchRequest(n, row)}],
               {ReplicaFetchRequest(n, row)})

TruncateTo(row, offset) ==
  LET log == Prefix(row.log, offset)
      cut == [row EXCEPT
                !.log = log, !.logStart = MinOf(@, offset), !.flushed = MinOf(@, offset),
                !.epochCache = CacheAfterTruncation(row, offset),
                !.producers = ProducersAfterTruncation(row, log),
                !.highWatermark = MinOf(@, offset)]
  IN [cut EXCEPT !.lastFetchedEpoch = LastEpochOf(cut.epochCache)]

(* P16.  The follower has nothing that the leader still has.                *)
WipeTo(row, start) ==
  [row EXCEPT !.log = EmptyLogAt(start), !.logStart = start, !.flushed = start,
              !.epochCache = <<>>, !.producers = {}, !.lastFetchedEpoch = Undefined,
              !.highWatermark = HighWatermarkAfterWipe(row, start)]

OutOfRange(row, m) ==
  CASE m.endOffset < EndOffset(row.log) -> TruncateTo(row, m.endOffset)
    [] m.logStart > EndOffset(row.log) -> WipeTo(row, m.logStart)
    [] OTHER -> row

RaiseLogStart(row, start) ==
  LET new == MinOf(start, row.highWatermark)
  IN IF new <= row.logStart THEN row
     ELSE [row EXCEPT !.logStart = new, !.log = Trimmed(@, new),
                      !.epochCache = CacheTrimmed(@, new)]

AppendFetched(row, m) ==
  LET records == Appendable(m)
      offset == EndOffset(row.log)
      log == row.log \o records
      longer == [row EXCEPT
                   !.log = log,
                   !.epochCache = CacheAppend(@, offset, records),
                   !.producers = ProducersFrom(@, log, offset + 1, BatchesKept),
                   !.lastFetchedEpoch = LastFetchedAfter(row, records)]
      told == [longer EXCEPT !.highWatermark = FollowerHighWatermark(longer, m.highWatermark)]
  IN RaiseLogStart(told, m.logStart)

(* Does the response say anything about the log?                            *)
MayChangeLog(row, m) ==
  m.request \in row.fetching /\ m.error \in {"NONE", "OFFSET_OUT_OF_RANGE"}

NoteFetched(row, m) ==
  IF m.request \notin row.fetching THEN Ignore(row, "NotAwaited")
  ELSE Outcome([row EXCEPT !.fetching = @ \ {m.request}], {})

(* ACTION HandleReplicaFetchResponse                                        *)
(* WHO    a follower                                                        *)
(* WHAT   It truncates a diverging log, handles an offset that is out of    *)
(*        range, or appends the records and adopts the leader's high        *)
(*        watermark and log start (P7, P14 to P16).                         *)
Step_HandleReplicaFetchResponse(n, row, m) ==
  LET answered == [row EXCEPT !.fetching = @ \ {m.request}]
  IN CASE ~MayChangeLog(row, m) -> NoteFetched(row, m)
       [] ~ResponseMatches(row, m) -> Outcome(answered, {})
       [] m.error = "OFFSET_OUT_OF_RANGE" -> Outcome(OutOfRange(answered, m), {})
       [] m.diverging # NoDivergence ->
            Outcome(TruncateTo(answered, TruncationPoint(row, m.diverging)), {})
       [] OTHER -> Outcome(AppendFetched(answered, m), {})

(* ACTION HandleReplicaFetchTimeout                                         *)
(* WHO    a follower                                                        *)
(* WHAT   A fetch will not be answered any more. The follower may send      *)
(*        another one.                                                      *)
Step_HandleReplicaFetchTimeout(n, row, input) ==
  IF ~IsUp(row) \/ input.request \notin row.fetching THEN Disabled
  ELSE Outcome([row EXCEPT !.fetching = @ \ {input.request}], {})

-----------------------------------------------------------------------------
(* Reads: P20, P21; and DeleteRecords: S9.                                  *)

ClientEpochError(row, m) ==
  CASE m.epoch # Undefined /\ m.epoch < row.leaderEpoch -> "FENCED_LEADER_EPOCH"
    [] m.epoch # Undefined /\ m.epoch > row.leaderEpoch -> "UNKNOWN_LEADER_EPOCH"
    [] OTHER -> "NONE"

ConsumerFetchResponse(n, row, m, error, records) ==
  [type |-> "ConsumerFetchResponse", source |-> n, destination |-> Clients, request |-> m,
   error |-> error, records |-> records, highWatermark |-> row.highWatermark,
   logStart |-> row.logStart]

(* ACTION HandleConsumerFetchRequest                                        *)
(* WHO    a leader, or a follower (KIP-392)                                 *)
(* WHAT   It returns records up to the visible end: its high watermark      *)
(*        (P20).                                                            *)
Step_HandleConsumerFetchRequest(n, row, m) ==
  LET error == CASE ClientEpochError(row, m) # "NONE" -> ClientEpochError(row, m)
                 [] row.role = "None" -> "NOT_LEADER_OR_FOLLOWER"
                 [] row.role # "Leader" /\ ~m.fromFollower -> "NOT_LEADER_OR_FOLLOWER"
                 [] m.fetchOffset < row.logStart \/ m.fetchOffset > EndOffset(row.log) ->
                      "OFFSET_OUT_OF_RANGE"
                 [] OTHER -> "NONE"
      records == IF error # "NONE" THEN <<>>
                 ELSE BatchesFrom(row.log, m.fetchOffset, VisibleEnd(row), FetchMaxRecords)
  IN Outcome(row, {ConsumerFetchResponse(n, row, m, error, records)})

ListOffsetsResponse(n, m, error, offset) ==
  [type |-> "ListOffsetsResponse", source |-> n, destination |-> Clients, request |-> m,
   error |-> error, offset |-> offset]

(* ACTION HandleListOffsetsRequest                                          *)
(* WHO    a leader                                                          *)
(* WHAT   It returns the earliest offset, or the latest visible one if its  *)
(*        high watermark has reached the start of its epoch (P21).          *)
Step_HandleListOffsetsRequest(n, row, m) ==
  LET error == CASE ClientEpochError(row, m) # "NONE" -> ClientEpochError(row, m)
                 [] m.timestamp = "Latest" -> ListOffsetsError(row)
                 [] row.role # "Leader" -> "NOT_LEADER_OR_FOLLOWER"
                 [] OTHER -> "NONE"
      offset == CASE error # "NONE" -> Undefined
                  [] m.timestamp = "Latest" -> VisibleEnd(row)
                  [] OTHER -> row.logStart
  IN Outcome(row, {ListOffsetsResponse(n, m, error, offset)})

(* ACTION HandleDeleteRecordsRequest                                        *)
(* WHO    a leader                                                          *)
(* WHAT   It raises its log start, at most to the high watermark. Followers *)
(*        learn it by fetching. The response waits for the unfenced ones    *)
(*        (S9).                                                             *)
Step_HandleDeleteRecordsRequest(n, row, m) ==
  CASE row.role # "Leader" ->
         Outcome(row, {DeleteRecordsResponse(n, m, "NOT_LEADER_OR_FOLLOWER", Undefined)})
    [] m.offset > row.highWatermark ->
         Outcome(row, {DeleteRecordsResponse(n, m, "OFFSET_OUT_OF_RANGE", Undefined)})
    [] OTHER ->
         LET raised == RaiseLogStart(row, m.offset)
             waiting == [request |-> m, offset |-> m.offset, required |-> m.offset]
         IN IF IsReached(raised, waiting)
            THEN Outcome(raised, {ParkedResponse(n, waiting, "NONE")})
            ELSE Outcome([raised EXCEPT !.parked = @ \cup {waiting}], {})

-----------------------------------------------------------------------------
(* The disk: S4, S5.                                                        *)

(* ACTION HandleBrokerFlush                                                 *)
(* WHO    a broker                                                          *)
(* WHAT   It syncs its log to disk, at any time (S4).                       *)
Step_HandleBrokerFlush(n, row, input) ==
  IF IsUp(row) /\ row.flushed < EndOffset(row.log)
  THEN Outcome([row EXCEPT !.flushed = EndOffset(row.log)], {}) ELSE Disabled

(* ACTION HandleCheckpointHighWatermark                                     *)
(* WHO    a broker                                                          *)
(* WHAT   It writes its high watermark to disk, at any time (S5).           *)
Step_HandleCheckpointHighWatermark(n, row, input) ==
  IF IsUp(row) /\ row.checkpoint # row.highWatermark
  THEN Outcome([row EXCEPT !.checkpoint = row.highWatermark], {}) ELSE Disabled
=============================================================================
