------------------------------ MODULE Quorum41 ------------------------------
(***************************************************************************)
(* The controller quorum by the rules of Apache Kafka 4.1 and later.  The   *)
(* quorum of QuorumHandlers is that of October 2024 (3.9 with pre-vote);    *)
(* since then                                                               *)
(*   - a fetch says which high watermark its sender knows, and is answered  *)
(*     at once if there is a newer one (KIP-1166, 4.1);                     *)
(*   - who knows no leader, or gets no answer from it, asks another voter   *)
(*     for records, to find one (KAFKA-17030 and KAFKA-16164, 4.0);         *)
(*   - a leader announces itself again to whom it has not heard from only   *)
(*     (KAFKA-16953, 4.0);                                                  *)
(*   - who resigns knows no high watermark any more (ResignedState).        *)
(*                                                                          *)
(* Everything else is that of the quorum. An operator R41_X of this module  *)
(* replaces X or Step_X (the list is in reference/quorum/protocol.py).      *)
(* Python twin: reference/quorum/quorum41.py                                *)
(***************************************************************************)
EXTENDS QuorumHandlers

-----------------------------------------------------------------------------
(* The high watermark in fetches: Q23 (KIP-1166).                           *)

(* Whether a fetch is answered though there are no records for it.          *)
KnowsLess(row, m) == m.highWatermark < row.highWatermark

(* What a leader that has noted a fetch knows to be committed: what it has   *)
(* counted, whatever the sender knows.                                      *)
HighWatermarkAfterFetch(row, m) == row.highWatermark

R41_FetchRequest(n, row, peer) ==
  [type |-> "FetchRequest", source |-> n, destination |-> peer, epoch |-> row.epoch,
   fetchOffset |-> EndOffset(row.log), lastFetchedEpoch |-> LastFetchedEpoch(row),
   highWatermark |-> row.highWatermark]

FetchAnswer(row, m) ==
  FetchResponse(row, m, "NONE", FetchedRecords(row, m), NoDivergence, row.highWatermark)

(* When the high watermark moves, all waiting fetches are answered.         *)
Told(before, row) ==
  IF row.highWatermark # before.highWatermark THEN row.parked
  ELSE {m \in row.parked : FetchedRecords(row, m) # <<>>}

R41_HandleFetchRequest(n, row, m) ==
  LET error == FetchRequestError(row, m)
      diverges == FetchDiverges(row, m)
      counted == NoteFetch(n, row, m, diverges)
      noted == [counted EXCEPT !.highWatermark = HighWatermarkAfterFetch(counted, m)]
      told == Told(row, noted)
      after == [noted EXCEPT !.parked = @ \ told]
      replies == {FetchAnswer(after, p) : p \in told}
  IN CASE error # "NONE" -> Finish(n, row, row, {FetchErrorResponse(row, m, error)})
       [] diverges ->
            Finish(n, row, noted,
              {FetchResponse(noted, m, "NONE", <<>>, DivergingEpoch(row, m),
                             noted.highWatermark)})
       [] FetchedRecords(after, m) # <<>> \/ KnowsLess(after, m) ->
            Finish(n, row, after, replies \cup {FetchAnswer(after, m)})
       [] OTHER -> Finish(n, row, [after EXCEPT !.parked = @ \cup {m}], replies)

R41_HandleFlush(n, row, input) ==
  LET flushed == [row EXCEPT !.flushed = EndOffset(row.log)]
      counted == IF row.role = "Leader" THEN AdvanceHighWatermark(n, flushed) ELSE flushed
      told == Told(row, counted)
  IN IF ~Running(row) \/ row.flushed = EndOffset(row.log) THEN {}
     ELSE Finish(n, row, [counted EXCEPT !.parked = @ \ told],
            {FetchAnswer(counted, m) : m \in told})

-----------------------------------------------------------------------------
(* Changes of role.                                                         *)

(* A voter that starts fetches from some voter at once.                     *)
R41_InitialRow(n) ==
  [role |-> "Down", epoch |-> 0, leader |-> Nobody, voted |-> Nobody,
   quorumState |-> [epoch |-> 0, leader |-> Nobody, voted |-> Nobody],
   log |-> <<>>, flushed |-> 0, epochCache |-> <<>>, highWatermark |-> Undefined,
   granted |-> {}, rejected |-> {}, hasFetched |-> FALSE,
   epochStart |-> Undefined, endOffsets |-> [v \in Voters |-> Undefined],
   fetchedVoters |-> {}, unacked |-> {}, successors |-> <<>>,
   connections |-> [v \in Voters |-> "Ready"], parked |-> {}, announced |-> Undefined]

(* What a resigned leader still knows to be committed.                      *)
ResignedHighWatermark(row) == Undefined

R41_BecomeResigned(n, row, successors) ==
  [EnterRole(row, "Resigned", row.epoch, n, row.voted)
     EXCEPT !.unacked = Others(n), !.successors = successors,
            !.highWatermark = ResignedHighWatermark(row)]

-----------------------------------------------------------------------------
(* The search for a leader (Q24; KAFKA-17030). A node fetches from one      *)
(* voter at a time, from any voter, and from none while it awaits a         *)
(* response.                                                                *)

AwaitsAnybody(row) == \E p \in Voters : row.connections[p] = "Awaiting"
ReadyPeers(n, row) == {p \in Others(n) : row.connections[p] = "Ready"}

(* The sets of peers to fetch from: one peer each.                          *)
Searched(n, row) ==
  IF AwaitsAnybody(row) \/ ReadyPeers(n, row) = {} THEN {{}}
  ELSE {{p} : p \in ReadyPeers(n, row)}

Asked(n, before, row) ==
  CASE row.role = "Leader" /\ ~LeadsSameEpoch(before, row) -> {Others(n)}
    [] row.role = "Unattached" -> Searched(n, row)
    [] row.role = "Follower" /\ AwaitsAnybody(row) -> {{}}
    [] row.role = "Follower" /\ row.connections[row.leader] # "Ready" -> Searched(n, row)
    [] OTHER -> {Owed(n, row)}

R41_Finish(n, before, row, replies) ==
  {FinishAsking(n, before, row, replies, "", peers) : peers \in Asked(n, before, row)}

(* A follower whose leader has not responded in time fetches from any       *)
(* voter.                                                                   *)
R41_HandleRequestTimeout(n, row, input) ==
  LET ready == [row EXCEPT !.connections[input.peer] = "Ready"]
      silent == /\ row.role = "Follower" /\ input.peer = row.leader
                /\ row.connections[input.peer] = "Awaiting"
  IN CASE ~Running(row) \/ row.connections[input.peer] = "Ready" -> {}
       [] silent ->
            {FinishAsking(n, row, ready, {}, "", peers) : peers \in Searched(n, ready)}
       [] OTHER -> Finish(n, row, ready, {})

(* An answer with records may come from the leader that was looked for: then *)
(* it is followed, and the answer is used.                                  *)
R41_ReceiveResponse(n, row, m, use(_)) ==
  LET answered == Answered(row, m)
      learned == Learn(n, answered, m.leader, m.epoch)
      found == /\ m.type = "FetchResponse" /\ m.error = "NONE" /\ m.epoch = row.epoch
               /\ row.leader = Nobody /\ learned.role = "Follower"
      teaches == \/ m.epoch > row.epoch
                 \/ m.error \in {"FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
                 \/ m.leader # Nobody /\ row.leader = Nobody
  IN CASE ~AnswersInFlight(row, m, RequestInFlight(n, row, m.source)) ->
            Ignore(n, row, "NotAwaited")
       [] IsStaleResponse(row, m) -> Finish(n, row, BackOff(row, m), {})
       [] found -> use(learned)
       [] teaches -> Finish(n, row, IF learned = answered THEN BackOff(row, m) ELSE learned, {})
       [] m.error = "INVALID_REQUEST" -> Finish(n, row, Halt(row), {})
       [] OTHER -> use(answered)

-----------------------------------------------------------------------------
(* A leader announces itself again to voters that have not fetched for a    *)
(* while; which these are depends on clocks (Q10).                          *)

R41_HandleBeginQuorumEpochTimeout(n, row, input) ==
  IF row.role = "Leader"
  THEN {FinishAsking(n, row, row, {}, "", peers) : peers \in SUBSET Others(n)} ELSE {}
=============================================================================
