--------------------------- MODULE ChainPartition ---------------------------
(***************************************************************************)
(* The frame in which partly logged steps of brokers are judged, as         *)
(* ChainQuorum is for voters: what a hidden field of an input may have been.*)
(* Numbers are compared with those of the row and kept, so each set has one *)
(* on each side of what they are compared with, and what the trace has      *)
(* elsewhere.  What a broker keeps unseen is beyond that: which fields      *)
(* these are stands in traces/foreign/domains.py.                           *)
(*                                                                          *)
(* Fields are filled in the order of traces/foreign/hidden.py, and a set    *)
(* looks only at those that stand before it there.                          *)
(***************************************************************************)
EXTENDS BrokerCases

CONSTANT Logged     \* field -> the values that the trace has under this name

(* Numbers below -1 are not considered: nothing in Kafka makes them.        *)
UpTo(number) == Undefined..number
Around(number) == {number - 1, number, number + 1}

Known(field) == IF field \in DOMAIN Logged THEN Logged[field] ELSE {}
AndAfter(numbers) == numbers \cup {number + 1 : number \in numbers}

(* What was logged of the row after the step, or else nothing.              *)
Seen(after, field) == IF field \in DOMAIN after THEN {after[field]} ELSE {}

EpochsUpTo(row) == UpTo(MaxOf(row.leaderEpoch, LastEpochOf(row.epochCache)) + 1)

-----------------------------------------------------------------------------
(* Requests that are answered, or will not be.                              *)

Another == [type |-> "Another"]

ControllerRequests(row) == {row.controllerRequest, row.alterRequest} \ {NoRequest}

RequestsFor(row, input) ==
  CASE input.type = "ReplicaFetchTimeout" -> row.fetching
    [] input.type = "ProduceTimeout" -> {p.request : p \in row.parked}
    [] input.type = "ControllerRequestTimeout" -> ControllerRequests(row)
    [] input.type = "ReplicaFetchResponse" ->
         {Another} \cup {m \in row.fetching : m.destination = input.source}
    [] OTHER -> {Another} \cup ControllerRequests(row)

Sources(n, input) ==
  CASE input.type \in {"ReplicaFetchRequest", "ReplicaFetchResponse"} -> Brokers \ {n}
    [] input.type \in {"ProduceRequest", "ConsumerFetchRequest", "ListOffsetsRequest",
                       "DeleteRecordsRequest"} -> {Clients}
    [] OTHER -> {Controller}

(* One error of each kind that a handler distinguishes.                     *)
Errors == {"NONE", "OFFSET_OUT_OF_RANGE", "INELIGIBLE_REPLICA", "FENCED_LEADER_EPOCH",
           "NOT_CONTROLLER"}

-----------------------------------------------------------------------------
(* What a fetch response carries.  Of one that is not used nothing matters. *)

IsUsed(row, input) == input.request # Another /\ ResponseMatches(row, input)
IsOutOfRange(row, input) == IsUsed(row, input) /\ input.error = "OFFSET_OUT_OF_RANGE"
IsSuccess(row, input) == IsUsed(row, input) /\ input.error = "NONE"
Appends(row, input) == IsSuccess(row, input) /\ input.diverging = NoDivergence

Divergences(row) ==
  {NoDivergence} \cup [epoch : EpochsUpTo(row), endOffset : 0..(EndOffset(row.log) + 1)]

(* Records go to the end of the log, where they can be seen if it is logged.*)
Gained(row, after) ==
  IF "log" \in DOMAIN after /\ Len(after.log) > Len(row.log)
  THEN SubSeq(after.log, Len(row.log) + 1, Len(after.log)) ELSE <<>>

IsRecords(records) == \A i \in DOMAIN records : "kind" \notin DOMAIN records[i]
Fetched(row, after) ==
  {<<>>, Gained(row, after)} \cup {records \in Known("records") : IsRecords(records)}

EndAfter(row, input) == EndOffset(row.log) + Len(input.records)

(* The high watermark is bounded by what the broker has: see                *)
(* FollowerHighWatermark.                                                   *)
HighWatermarks(row, input, after) ==
  IF "highWatermark" \in DOMAIN after THEN {after.highWatermark}
  ELSE UpTo(EndAfter(row, input))

LogStarts(row, input, after) ==
  IF "logStart" \in DOMAIN after THEN {Undefined, after.logStart}
  ELSE UpTo(EndAfter(row, input) + 1) \cup Known("logStart")

InFetchResponse(row, input, after, field) ==
  CASE field = "diverging" ->
         IF IsSuccess(row, input) THEN Divergences(row) ELSE {NoDivergence}
    [] field = "records" -> IF Appends(row, input) THEN Fetched(row, after) ELSE {<<>>}
    [] field = "highWatermark" ->
         IF Appends(row, input) THEN HighWatermarks(row, input, after) ELSE {Undefined}
    [] field = "logStart" ->
         IF Appends(row, input) \/ IsOutOfRange(row, input)
         THEN LogStarts(row, input, after) ELSE {Undefined}
    [] field = "endOffset" ->
         IF IsOutOfRange(row, input) THEN 0..EndOffset(row.log) ELSE {Undefined}

-----------------------------------------------------------------------------
(* Metadata.  It is folded into the image, so that a logged image shows     *)
(* which brokers and whether the partition changed; the order does not      *)
(* matter, and a record that changes nothing may stand anywhere.            *)

BrokerRecord(image, b) ==
  [kind |-> "Broker", broker |-> b, registration |-> image.brokers[b]]
PartitionRecord(image) == [kind |-> "Partition", partition |-> image.partition]

RECURSIVE InSomeOrder(_)
InSomeOrder(members) ==
  IF members = {} THEN <<>>
  ELSE LET first == CHOOSE member \in members : TRUE
       IN <<first>> \o InSomeOrder(members \ {first})

Padded(members, count) ==
  LET some == InSomeOrder(members)
  IN [i \in 1..count |-> some[MinOf(i, Len(some))]]

ImageChanges(old, new) ==
  LET brokers == {BrokerRecord(new, b) : b \in {c \in Brokers : new.brokers[c] # old.brokers[c]}}
      unchanged == {BrokerRecord(new, CHOOSE b \in Brokers : TRUE)}
      with == brokers \cup {PartitionRecord(new)}
      count == new.offset - old.offset
      choices == IF new.partition # old.partition THEN {with}
                 ELSE {with, brokers, brokers \cup unchanged}
  IN {Padded(members, count) :
        members \in {c \in choices : c # {} /\ Cardinality(c) <= count}}

MetadataRead(row, after) ==
  {records \in Known("records") : ~IsRecords(records)}
  \cup (IF "image" \in DOMAIN after THEN ImageChanges(row.image, after.image) ELSE {})

-----------------------------------------------------------------------------
(* What clients ask.                                                        *)

BatchLengths(row) ==
  UNION {{state.batches[i].last - state.batches[i].first + 1 : i \in DOMAIN state.batches} :
           state \in row.producers}

SomeValues(count) == [i \in 1..count |-> 1]
ValuesOf(records) == [i \in DOMAIN records |-> records[i].value]

(* One more than any batch has: the same as no other.                       *)
Values(row, after) ==
  LET lengths == BatchLengths(row) \cup {1}
      longest == CHOOSE l \in lengths : \A other \in lengths : other <= l
  IN Known("values") \cup {SomeValues(l) : l \in lengths \cup {longest + 1}}
     \cup (IF Gained(row, after) = <<>> THEN {} ELSE {ValuesOf(Gained(row, after))})

InProduceRequest(row, after, field) ==
  CASE field = "acks" -> {-1, 0, 1}
    [] field = "values" -> Values(row, after)
    [] OTHER -> {Undefined, 0} \cup Known(field)
         \cup (IF Gained(row, after) # <<>> /\ field \in {"producer", "producerEpoch", "sequence"}
               THEN {Gained(row, after)[1][field]} ELSE {})

-----------------------------------------------------------------------------
(* A follower's log starts at or before its end, from which it fetches; it   *)
(* may start above the leader's own.  Fetches from above the leader's end   *)
(* are refused, whatever they say (P4).                                     *)
InReplicaFetchRequest(row, input, field) ==
  CASE field = "epoch" -> Around(row.leaderEpoch) \cup Known("epoch")
    [] field = "lastFetchedEpoch" -> EpochsUpTo(row) \cup Known("epoch")
    [] field = "fetchOffset" -> UpTo(EndOffset(row.log) + 1) \cup Known("fetchOffset")
    [] field = "logStart" ->
         0..MaxOf(row.logStart, MinOf(input.fetchOffset, EndOffset(row.log)))
           \cup Known("logStart")
    [] field = "brokerEpoch" ->
         LET registered == row.image.brokers[input.source].epoch
         IN {registered - 1} \cup AndAfter({registered} \cup Known("epoch"))

InAlterPartitionResponse(row, after, field) ==
  CASE field = "leader" -> {Nobody}
    [] field = "leaderEpoch" -> Around(row.leaderEpoch)
    [] field = "partitionEpoch" ->
         Around(row.partitionEpoch) \cup Known("partitionEpoch") \cup Seen(after, field)
    [] field = "isr" -> SUBSET Brokers

InOthers(row, input, after, field) ==
  CASE field \in {"isCaughtUp", "shouldShutDown", "fromFollower"} -> BOOLEAN
    [] field = "isFenced" -> {FALSE}
    [] field = "brokerEpoch" -> {Undefined} \cup AndAfter(Known("epoch")) \cup Seen(after, field)
    [] field = "epoch" -> {Undefined} \cup Around(row.leaderEpoch) \cup Known("epoch")
    [] field = "fetchOffset" -> UpTo(EndOffset(row.log) + 1) \cup Known("fetchOffset")
    [] field = "timestamp" -> {"Earliest", "Latest"}
    [] field = "client" -> {0} \cup Known("client")
    [] field = "offset" ->
         IF input.type = "MetadataUpdate" THEN {row.image.offset}
         ELSE UpTo(row.highWatermark + 1) \cup Known("offset")
    [] field = "records" -> MetadataRead(row, after)
    [] field = "keep" -> DurableEnd(row)..EndOffset(row.log)
    [] field = "corrupt" -> {Undefined} \cup (DurableEnd(row)..(input.keep - 1))

Hidden(n, row, input, after, field) ==
  CASE field = "source" -> Sources(n, input)
    [] field = "replica" -> Brokers \ {n}
    [] field = "request" -> RequestsFor(row, input)
    [] field = "error" -> Errors
    [] input.type = "ReplicaFetchRequest" -> InReplicaFetchRequest(row, input, field)
    [] input.type = "ReplicaFetchResponse" -> InFetchResponse(row, input, after, field)
    [] input.type = "AlterPartitionResponse" -> InAlterPartitionResponse(row, after, field)
    [] input.type = "ProduceRequest" -> InProduceRequest(row, after, field)
    [] OTHER -> InOthers(row, input, after, field)

(* A broker that is down receives no message (PartitionReplication).        *)
MayTake(row, input) == "destination" \notin DOMAIN input \/ IsUp(row)
=============================================================================
