---------------------------- MODULE KafkaQuorum -----------------------------
(***************************************************************************)
(* What the quorum of Apache Kafka does otherwise than the specs in all     *)
(* versions that there are profiles of: Kafka40 and Kafka43 build on it.    *)
(*                                                                          *)
(* Each departure is an entry of a profile's list, which says what it is (a *)
(* bug, or a matter of grain) and where it is seen.  Entries is the set of   *)
(* those that apply: with none of them this module says what the specs say. *)
(*                                                                          *)
(* Law of this file: an operator under the prefix Kafka_ is a replacement   *)
(* for the operator of that name, and mentions the entries that change it.  *)
(***************************************************************************)
EXTENDS QuorumHandlers

CONSTANT Entries

(* candidate-again: on restart the vote is looked at before the leader.     *)
Kafka_StartupRole(n, quorumState, lastEpoch) ==
  CASE quorumState.epoch < lastEpoch -> "Unattached"
    [] quorumState.leader = n -> "Resigned"
    [] quorumState.voted = n /\ "candidate-again" \in Entries -> "Candidate"
    [] quorumState.leader # Nobody -> "Follower"
    [] quorumState.voted = n -> "Candidate"
    [] OTHER -> "Unattached"

(* asks-at-once: a response without news is a success nevertheless.         *)
Kafka_BackOff(row, m) ==
  [row EXCEPT !.connections[m.source] =
     IF "asks-at-once" \in Entries THEN "Ready" ELSE "BackingOff"]

(* late-answers: a timed-out request is noticed when the peer is requested  *)
(* again, and until then its answer is used.                                *)
(* numbered-answers: an answer to an earlier request that said the same is  *)
(* not awaited; numbers are not in the row, so that both are allowed.       *)
Kafka_ReceiveResponse(n, row, m, use(_)) ==
  LET inFlight == RequestInFlight(n, row, m.source)
      answered == Answered(row, m)
      learned == Learn(n, answered, m.leader, m.epoch)
      found == /\ m.type = "FetchResponse" /\ m.error = "NONE" /\ m.epoch = row.epoch
               /\ row.leader = Nobody /\ learned.role = "Follower"
      teaches == \/ m.epoch > row.epoch
                 \/ m.error \in {"FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
                 \/ m.leader # Nobody /\ row.leader = Nobody
      used == CASE IsStaleResponse(row, m) -> Finish(n, row, BackOff(row, m), {})
                [] found -> use(learned)
                [] teaches ->
                     Finish(n, row, IF learned = answered THEN BackOff(row, m) ELSE learned, {})
                [] m.error = "INVALID_REQUEST" -> Finish(n, row, Halt(row), {})
                [] OTHER -> use(answered)
      late == /\ "late-answers" \in Entries
              /\ row.connections[m.source] = "Ready" /\ m.request = inFlight
      asked == AnswersInFlight(row, m, inFlight)
  IN (IF asked \/ late THEN used ELSE {})
     \cup (IF asked /\ "numbered-answers" \notin Entries THEN {}
           ELSE Ignore(n, row, "NotAwaited"))

-----------------------------------------------------------------------------
(* Fetches that are parked.                                                 *)

(* noted-again: a parked fetch that is answered is noted like a new one.    *)
Noted(n, row, m) ==
  IF "noted-again" \notin Entries THEN row
  ELSE LET fetched == row.fetchedVoters \cup {m.source}
       IN AdvanceHighWatermark(n, [row EXCEPT
            !.endOffsets[m.source] = m.fetchOffset,
            !.fetchedVoters = IF CheckQuorumSatisfied(fetched, n) THEN {} ELSE fetched])

(* A leader answers some of the fetches that it has parked, in any order.   *)
(* Of an older epoch there are only those of entry stale-fetches.  Requests *)
(* that are alike are one here, and are noted each in Kafka: with five      *)
(* voters, who has fetched since the last round depends on how many.        *)
Orders(requests) ==
  {s \in [1..Cardinality(requests) -> requests] : {s[i] : i \in DOMAIN s} = requests}

Answer(row, m, servable) ==
  IF m.epoch < row.epoch THEN FetchErrorResponse(row, m, "FENCED_LEADER_EPOCH")
  ELSE FetchResponse(row, m, "NONE", Slice(row.log, m.fetchOffset, servable, FetchMaxRecords),
                     NoDivergence, row.highWatermark)

HeardFrom(fetched, requests) ==
  IF "noted-again" \in Entries /\ Cardinality(Voters) > 3 /\ requests # {}
  THEN SUBSET (fetched \cup {m.source : m \in requests}) ELSE {fetched}

AnsweredInOrder(n, row, order, servable) ==
  LET valid(i) == order[i].epoch = row.epoch
      after[i \in 0..Len(order)] ==
        IF i = 0 THEN row
        ELSE IF valid(i) THEN Noted(n, after[i - 1], order[i]) ELSE after[i - 1]
      last == after[Len(order)]
      requests == {order[i] : i \in DOMAIN order}
  IN {[row |-> [last EXCEPT !.parked = @ \ requests, !.fetchedVoters = fetched],
       sent |-> {Answer(last, m, servable) : m \in requests}] :
      fetched \in HeardFrom(last.fetchedVoters, {m \in requests : m.epoch = row.epoch})}

AnsweredParked(n, row, requests, servable) ==
  UNION {AnsweredInOrder(n, row, order, servable) : order \in Orders(requests)}

(* answers-before-flush: what is appended is sent to who waits for it, and  *)
(* flushed then.                                                            *)
Kafka_HandleAppend(n, row, input) ==
  LET longer == [row EXCEPT
        !.log = Append(@, [epoch |-> row.epoch, value |-> input.value])]
      appended == [longer EXCEPT !.flushed = FlushedAfterLeaderAppend(longer)]
      end == EndOffset(appended.log)
      waiting == IF "answers-before-flush" \notin Entries THEN {}
                 ELSE {m \in row.parked : m.fetchOffset < end}
  IN CASE ~Running(row) -> {}
       [] row.role # "Leader" -> Ignore(n, row, "NotLeader")
       [] OTHER -> UNION {Finish(n, row, each.row, each.sent) :
                          each \in AnsweredParked(n, appended, waiting, end)}

(* served: the fetches that a leader answers before and after a flush.      *)
Flushes(n, row, served(_, _)) ==
  LET flushed == [row EXCEPT !.flushed = EndOffset(row.log)]
      counted == IF row.role = "Leader" THEN AdvanceHighWatermark(n, flushed) ELSE flushed
  IN IF ~Running(row) \/ row.flushed = EndOffset(row.log) THEN {}
     ELSE UNION {Finish(n, row, each.row, each.sent) :
                 each \in AnsweredParked(n, counted, served(row, counted), EndOffset(row.log))}

(* stale-fetches (KAFKA-20914): who stops leading without a new leader      *)
(* keeps what it has parked, and answers when it follows, resigns or leads  *)
(* again, or when the wait is over: then with what it knew while it led.    *)
KeepsStale == "stale-fetches" \in Entries

Kafka_FinishAsking(n, before, row, replies, ignored, peers) ==
  LET ready == {p \in peers : row.connections[p] = "Ready"}
      leads == row.role = "Leader"
      refused == IF LeadsSameEpoch(before, row) THEN {}
                 ELSE IF KeepsStale /\ row.role \notin {"Follower", "Resigned", "Leader"} THEN {}
                 ELSE IF KeepsStale /\ leads
                 THEN {m \in before.parked : m.fetchOffset < EndOffset(row.log)}
                 ELSE before.parked
      error == IF KeepsStale /\ leads THEN "FENCED_LEADER_EPOCH" ELSE "NOT_LEADER_OR_FOLLOWER"
      after == [row EXCEPT
        !.connections = [v \in Voters |-> IF v \in ready THEN "Awaiting" ELSE @[v]],
        !.parked = @ \ refused,
        !.quorumState = PersistedQuorumState(row),
        !.announced = IF MayAnnounceLeader(row) THEN row.epoch ELSE Undefined]
  IN [row |-> after,
      sent |-> replies \cup {FetchErrorResponse(row, m, error) : m \in refused}
               \cup {RequestInFlight(n, row, p) : p \in ready},
      ignored |-> ignored]

Kafka_HandleFetchMaxWait(n, row, input) ==
  LET m == input.request
      waited == [row EXCEPT !.parked = @ \ {m}]
      stale == KeepsStale /\ m.epoch < row.epoch
      then(highWatermark) ==
        [FetchResponse(row, m, "NONE", <<>>, NoDivergence, highWatermark)
           EXCEPT !.epoch = m.epoch, !.leader = n]
  IN CASE m \notin row.parked -> {}
       [] stale -> UNION {Finish(n, row, waited, {then(highWatermark)}) :
                          highWatermark \in Undefined..EndOffset(row.log)}
       [] OTHER -> Finish(n, row, waited,
                     {FetchResponse(row, m, "NONE", <<>>, NoDivergence, row.highWatermark)})
=============================================================================
