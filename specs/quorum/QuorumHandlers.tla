--------------------------- MODULE QuorumHandlers ---------------------------
(***************************************************************************)
(* What a voter of the KRaft controller quorum does with an input: pre-vote,*)
(* vote, BeginQuorumEpoch, EndQuorumEpoch, replication by fetch with        *)
(* divergence, the high watermark, check-quorum resignation, crash and      *)
(* restart.                                                                 *)
(*                                                                          *)
(* Shape.  One handler is one operator Step_A(n, row, input): node n, the   *)
(* row that is n's whole state, one input.  Its value is the set of         *)
(* outcomes [row, sent, ignored] that the protocol allows.  A handler sees  *)
(* nothing else (this module has no variables), so judging a recorded step  *)
(* needs nothing else.  KRaftElection lifts handlers to actions.            *)
(*                                                                          *)
(* Order of reading: the row; the changes of role; Finish, which every      *)
(* handler ends in; then the handlers, grouped as Kafka groups them.        *)
(* Decisions are in QuorumRules; Python twin: reference/quorum/handlers.py.   *)
(*                                                                          *)
(* Voters is the set in force.  Where it changes (specs/quorum/voters), each step  *)
(* is taken under the set that is in force at its node, which may be none   *)
(* of them; so functions of nodes in a row may be of more nodes.            *)
(*                                                                          *)
(* Not modelled here: snapshots (V1 to V8), cluster ids and directory ids,  *)
(* version negotiation, clocks.  Timers are inputs that may come at any     *)
(* time.                                                                    *)
(***************************************************************************)
EXTENDS QuorumRules

Roles == {"Unattached", "Prospective", "Candidate", "Leader", "Resigned", "Follower",
          "Down", "Halted"}
Running(row) == row.role \notin {"Down", "Halted"}

NoDivergence == [epoch |-> Undefined, endOffset |-> Undefined]

(***************************************************************************)
(* The row.                                                                 *)
(*   role, epoch, leader, voted      as the node believes them now          *)
(*   quorumState                     durable: the quorum-state file         *)
(*   log, flushed                    durable up to `flushed`                *)
(*   epochCache                      durable: leader-epoch-checkpoint       *)
(*   highWatermark                   -1 when unknown                        *)
(*   granted, rejected               votes of this (pre-)election           *)
(*   hasFetched                      fetched from the leader in this epoch  *)
(*   epochStart                      leader: offset of its LeaderChange     *)
(*   endOffsets                      leader: what each other voter fetched  *)
(*   fetchedVoters                   leader: heard from since the last      *)
(*                                   check-quorum round                     *)
(*   unacked, successors             resigned: voters not informed yet, and *)
(*                                   who should be the next leader          *)
(*   connections                     Ready, Awaiting or BackingOff, by peer *)
(*   parked                          leader: fetches waiting for records    *)
(*   announced                       epoch in which the state machine was   *)
(*                                   told that it leads, or -1              *)
(***************************************************************************)
InitialRow(n) ==
  [role |-> "Unattached", epoch |-> 0, leader |-> Nobody, voted |-> Nobody,
   quorumState |-> [epoch |-> 0, leader |-> Nobody, voted |-> Nobody],
   log |-> <<>>, flushed |-> 0, epochCache |-> <<>>, highWatermark |-> Undefined,
   granted |-> {}, rejected |-> {}, hasFetched |-> FALSE,
   epochStart |-> Undefined, endOffsets |-> [v \in Voters |-> Undefined],
   fetchedVoters |-> {}, unacked |-> {}, successors |-> <<>>,
   connections |-> [v \in Voters |-> "Ready"], parked |-> {}, announced |-> Undefined]

-----------------------------------------------------------------------------
(* Changes of role (1.2).  Each forgets what belonged to the old role and   *)
(* resets the connections, so that late responses no longer count (Q22).    *)

EnterRole(row, role, epoch, leader, voted) ==
  [row EXCEPT !.role = role, !.epoch = epoch, !.leader = leader, !.voted = voted,
              !.granted = {}, !.rejected = {}, !.hasFetched = FALSE,
              !.epochStart = Undefined, !.endOffsets = [v \in DOMAIN @ |-> Undefined],
              !.fetchedVoters = {}, !.unacked = {}, !.successors = <<>>,
              !.connections = [v \in DOMAIN @ |-> "Ready"]]

VotedIn(row, epoch) == IF epoch = row.epoch THEN VotedWithinEpoch(row) ELSE Nobody

BecomeUnattached(row, epoch) ==
  EnterRole(row, "Unattached", epoch, Nobody, VotedIn(row, epoch))

BecomeFollower(row, epoch, leader) ==
  EnterRole(row, "Follower", epoch, leader, VotedIn(row, epoch))

(* Q9.  The leader opens its epoch with a control record of its own.        *)
BecomeLeader(n, row) ==
  LET start == EndOffset(row.log)
      leader == EnterRole(row, "Leader", row.epoch, n, row.voted)
  IN [leader EXCEPT
        !.epochStart = start,
        !.epochCache = CacheAssign(row.epochCache, row.epoch, start),
        !.log = Append(row.log, [epoch |-> row.epoch, value |-> LeaderChange]),
        !.flushed = FlushedAfterLeaderAppend(row),
        !.highWatermark = Undefined]

BecomeCandidate(n, row) ==
  LET candidate == [EnterRole(row, "Candidate", row.epoch + 1, Nobody, n)
                      EXCEPT !.granted = {n}]
  IN IF ElectionWon({n}) THEN BecomeLeader(n, candidate) ELSE candidate

BecomeProspective(n, row) ==
  LET prospective == [EnterRole(row, "Prospective", row.epoch, row.leader, row.voted)
                        EXCEPT !.granted = {n}]
  IN IF ElectionWon({n}) THEN BecomeCandidate(n, prospective) ELSE prospective

(* 1.2.  A pre-vote that is lost leads back to where the node came from.    *)
PreVoteLost(row) ==
  IF row.leader = Nobody THEN BecomeUnattached(row, row.epoch)
                         ELSE BecomeFollower(row, row.epoch, row.leader)

BecomeResigned(n, row, successors) ==
  [EnterRole(row, "Resigned", row.epoch, n, row.voted)
     EXCEPT !.unacked = Others(n), !.successors = successors]

Halt(row) == EnterRole(row, "Halted", row.epoch, row.leader, row.voted)

-----------------------------------------------------------------------------
(* Requests that a role owes to its peers, and their responses.             *)

FetchRequest(n, row, peer) ==
  [type |-> "FetchRequest", source |-> n, destination |-> peer, epoch |-> row.epoch,
   fetchOffset |-> EndOffset(row.log), lastFetchedEpoch |-> LastFetchedEpoch(row)]

VoteRequest(n, row, peer) ==
  [type |-> "VoteRequest", source |-> n, destination |-> peer, epoch |-> row.epoch,
   lastEpoch |-> LastFetchedEpoch(row), lastOffset |-> EndOffset(row.log),
   preVote |-> row.role = "Prospective"]

BeginQuorumEpochRequest(n, row, peer) ==
  [type |-> "BeginQuorumEpochRequest", source |-> n, destination |-> peer,
   epoch |-> row.epoch]

EndQuorumEpochRequest(n, row, peer) ==
  [type |-> "EndQuorumEpochRequest", source |-> n, destination |-> peer,
   epoch |-> row.epoch, successors |-> row.successors]

(* The one request that may be in flight from n to this peer (Q22). A node  *)
(* that is no voter and knows no leader fetches to find one.                *)
RequestInFlight(n, row, peer) ==
  CASE row.role \in {"Prospective", "Candidate"} -> VoteRequest(n, row, peer)
    [] row.role \in {"Follower", "Unattached"} -> FetchRequest(n, row, peer)
    [] row.role = "Leader" -> BeginQuorumEpochRequest(n, row, peer)
    [] row.role = "Resigned" -> EndQuorumEpochRequest(n, row, peer)
    [] OTHER -> [type |-> "None"]

(* Whom n must ask now.  A leader's BeginQuorumEpoch is owed by its timer.  *)
Owed(n, row) ==
  CASE row.role \in {"Prospective", "Candidate"} ->
         IF ElectionLost(row.rejected) THEN {}
         ELSE Voters \ (row.granted \cup row.rejected)
    [] row.role = "Follower" -> {row.leader}
    [] row.role = "Resigned" -> row.unacked
    [] OTHER -> {}

(* Every response names the epoch and leader that its sender knows.         *)
Response(type, row, m, error) ==
  [type |-> type, source |-> m.destination, destination |-> m.source, error |-> error,
   epoch |-> row.epoch, leader |-> row.leader, request |-> m]

VoteResponse(row, m, error, granted) ==
  [type |-> "VoteResponse", source |-> m.destination, destination |-> m.source,
   error |-> error, epoch |-> row.epoch, leader |-> row.leader, granted |-> granted,
   request |-> m]

FetchResponse(row, m, error, records, diverging, highWatermark) ==
  [type |-> "FetchResponse", source |-> m.destination, destination |-> m.source,
   error |-> error, epoch |-> row.epoch, leader |-> row.leader, records |-> records,
   diverging |-> diverging, highWatermark |-> highWatermark, request |-> m]

FetchErrorResponse(row, m, error) ==
  FetchResponse(row, m, error, <<>>, NoDivergence, Undefined)

-----------------------------------------------------------------------------
(* The end of every step.  KafkaRaftClient handles one event and then polls *)
(* its state, which sends what the state owes; nothing comes between.       *)

LeadsSameEpoch(before, after) ==
  before.role = "Leader" /\ after.role = "Leader" /\ after.epoch = before.epoch

(* A node that stops leading answers its parked fetches (Q12).              *)
ParkedFetchErrors(before, after) ==
  IF LeadsSameEpoch(before, after) THEN {}
  ELSE {FetchErrorResponse(after, m, "NOT_LEADER_OR_FOLLOWER") : m \in before.parked}

(* Requests to `peers`, if their connections are ready.                     *)
FinishAsking(n, before, row, replies, ignored, peers) ==
  LET ready == {p \in peers : row.connections[p] = "Ready"}
      after == [row EXCEPT
        !.connections = [v \in DOMAIN @ |-> IF v \in ready THEN "Awaiting" ELSE @[v]],
        !.parked = IF LeadsSameEpoch(before, row) THEN @ ELSE {},
        !.quorumState = PersistedQuorumState(row),
        !.announced = IF MayAnnounceLeader(row) THEN row.epoch ELSE Undefined]
  IN [row |-> after,
      sent |-> replies \cup ParkedFetchErrors(before, row)
               \cup {RequestInFlight(n, row, p) : p \in ready},
      ignored |-> ignored]

(* A new leader announces itself at once.                                   *)
Finish(n, before, row, replies) ==
  {FinishAsking(n, before, row, replies, "",
     IF row.role = "Leader" /\ ~LeadsSameEpoch(before, row) THEN Others(n)
                                                            ELSE Owed(n, row))}

(* An ignored input is a step too, and has a named reason (L6).             *)
Ignore(n, row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}

(* The response has been used: its connection is ready for the next request.*)
Answered(row, m) == [row EXCEPT !.connections[m.source] = "Ready"]
BackOff(row, m) == [row EXCEPT !.connections[m.source] = "BackingOff"]

(* Q10.  What a node makes of a leader and an epoch, not older than its own.*)
Learn(n, row, leader, epoch) ==
  CASE ConflictingLeader(n, row, leader, epoch) -> Halt(row)
    [] epoch > row.epoch /\ leader = Nobody -> BecomeUnattached(row, epoch)
    [] epoch > row.epoch -> BecomeFollower(row, epoch, leader)
    [] leader # Nobody /\ row.leader = Nobody -> BecomeFollower(row, epoch, leader)
    [] OTHER -> row

(* The common part of all responses (Q8, Q16). An awaited response is       *)
(* either finished here, or passed to `use` with its connection ready       *)
(* again.                                                                   *)
ReceiveResponse(n, row, m, use(_)) ==
  LET answered == Answered(row, m)
      learned == Learn(n, answered, m.leader, m.epoch)
      teaches == \/ m.epoch > row.epoch
                 \/ m.error \in {"FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
                 \/ m.leader # Nobody /\ row.leader = Nobody
  IN CASE ~AnswersInFlight(row, m, RequestInFlight(n, row, m.source)) ->
            Ignore(n, row, "NotAwaited")
       [] IsStaleResponse(row, m) -> Finish(n, row, BackOff(row, m), {})
       [] teaches -> Finish(n, row, IF learned = answered THEN BackOff(row, m) ELSE learned, {})
       [] m.error = "INVALID_REQUEST" -> Finish(n, row, Halt(row), {})
       [] OTHER -> use(answered)

-----------------------------------------------------------------------------
(* Vote: Q5 to Q8.                                                          *)

Step_HandleVoteRequest(n, row, m) ==
  LET error == VoteRequestError(row, m)
      current == IF m.epoch > row.epoch THEN BecomeUnattached(row, m.epoch) ELSE row
      granted == IF m.preVote THEN PreVoteGranted(current, m) ELSE VoteGranted(current, m)
      voter == IF granted /\ VoteRecorded(m) /\ current.voted = Nobody
               THEN [current EXCEPT
                       !.voted = m.source,
                       !.granted = IF current.role = "Prospective" THEN {n} ELSE @,
                       !.rejected = IF current.role = "Prospective" THEN {} ELSE @]
               ELSE current
  IN IF error # "NONE"
     THEN Finish(n, row, row, {VoteResponse(row, m, error, FALSE)})
     ELSE Finish(n, row, voter, {VoteResponse(voter, m, "NONE", granted)})

Step_HandleVoteResponse(n, row, m) ==
  LET count(answered) ==
        LET granted == row.granted \cup (IF m.granted THEN {m.source} ELSE {})
            rejected == row.rejected \cup (IF m.granted THEN {} ELSE {m.source})
            counted == [answered EXCEPT !.granted = granted, !.rejected = rejected]
        IN Finish(n, row,
             CASE ElectionWon(granted) /\ row.role = "Candidate" -> BecomeLeader(n, counted)
               [] ElectionWon(granted) -> BecomeCandidate(n, counted)
               [] ElectionLost(rejected) /\ row.role = "Prospective" -> PreVoteLost(counted)
               [] OTHER -> counted, {})
  IN ReceiveResponse(n, row, m, count)

-----------------------------------------------------------------------------
(* BeginQuorumEpoch and EndQuorumEpoch: Q10, Q11.  EndQuorumEpoch shortens  *)
(* the follower's fetch timer, which no row contains.                       *)

HandleLeaderRequest(n, row, m, responseType) ==
  LET error == LeaderRequestError(row, m)
      learned == Learn(n, row, m.source, m.epoch)
  IN CASE error # "NONE" -> Finish(n, row, row, {Response(responseType, row, m, error)})
       [] learned.role = "Halted" -> Finish(n, row, learned, {})
       [] OTHER -> Finish(n, row, learned, {Response(responseType, learned, m, "NONE")})

Step_HandleBeginQuorumEpochRequest(n, row, m) ==
  HandleLeaderRequest(n, row, m, "BeginQuorumEpochResponse")

Step_HandleBeginQuorumEpochResponse(n, row, m) ==
  LET use(answered) == Finish(n, row, answered, {})
  IN ReceiveResponse(n, row, m, use)

Step_HandleEndQuorumEpochRequest(n, row, m) ==
  HandleLeaderRequest(n, row, m, "EndQuorumEpochResponse")

Step_HandleEndQuorumEpochResponse(n, row, m) ==
  LET use(answered) == Finish(n, row, [answered EXCEPT !.unacked = @ \ {m.source}], {})
  IN ReceiveResponse(n, row, m, use)

-----------------------------------------------------------------------------
(* Fetch: Q12 to Q16.                                                       *)

AdvanceHighWatermark(n, row) ==
  LET offset == MajorityEndOffset(n, row)
  IN IF MayAdvanceHighWatermark(row, offset) THEN [row EXCEPT !.highWatermark = offset] ELSE row

(* Q14, Q15.  What the leader notes of a fetch before it answers.           *)
NoteFetch(n, row, m, diverges) ==
  LET fetched == row.fetchedVoters \cup (Voters \cap {m.source})
      noted == [row EXCEPT
        !.endOffsets[m.source] = m.fetchOffset,
        !.fetchedVoters = IF CheckQuorumSatisfied(fetched, n) THEN {} ELSE fetched]
  IN IF FetchUpdatesEndOffset(diverges) THEN AdvanceHighWatermark(n, noted) ELSE row

FetchedRecords(row, m) ==
  Slice(row.log, m.fetchOffset, ServableEndOffset(row), FetchMaxRecords)

DivergingEpoch(row, m) ==
  EndOffsetForEpoch(row.epochCache, EndOffset(row.log), m.lastFetchedEpoch)

Step_HandleFetchRequest(n, row, m) ==
  LET error == FetchRequestError(row, m)
      diverges == FetchDiverges(row, m)
      noted == NoteFetch(n, row, m, diverges)
      records == FetchedRecords(noted, m)
  IN CASE error # "NONE" -> Finish(n, row, row, {FetchErrorResponse(row, m, error)})
       [] diverges ->
            Finish(n, row, noted,
              {FetchResponse(noted, m, "NONE", <<>>, DivergingEpoch(row, m),
                             noted.highWatermark)})
       [] records # <<>> ->
            Finish(n, row, noted,
              {FetchResponse(noted, m, "NONE", records, NoDivergence, noted.highWatermark)})
       [] OTHER -> Finish(n, row, [noted EXCEPT !.parked = @ \cup {m}], {})

(* The wait of a parked fetch is over: it is answered without records.      *)
Step_HandleFetchMaxWait(n, row, input) ==
  IF input.request \notin row.parked THEN {}
  ELSE Finish(n, row, [row EXCEPT !.parked = @ \ {input.request}],
         {FetchResponse(row, input.request, "NONE", <<>>, NoDivergence, row.highWatermark)})

(* Q16, divergence: cut the log and ask again.                              *)
TruncateTo(row, offset) ==
  [row EXCEPT !.log = Prefix(@, offset), !.flushed = MinOf(@, offset),
              !.epochCache = TruncatedEpochCache(row, offset)]

(* Q16, records: append, flush, then believe the leader's high watermark.   *)
AppendFetched(row, records) ==
  LET longer == [row EXCEPT
        !.log = @ \o records,
        !.epochCache = CacheAppend(@, EndOffset(row.log), records)]
  IN IF records = <<>> THEN row
     ELSE [longer EXCEPT !.flushed = FlushedAfterFollowerAppend(longer)]

Step_HandleFetchResponse(n, row, m) ==
  LET use(answered) ==
        LET follower == [answered EXCEPT !.hasFetched = TRUE]
            longer == AppendFetched(follower, Appendable(row, m))
        IN Finish(n, row,
             CASE m.diverging = NoDivergence ->
                    [longer EXCEPT !.highWatermark =
                       FollowerHighWatermark(longer, m.highWatermark)]
               [] TruncationRefused(row, m.diverging) -> Halt(row)
               [] OTHER -> TruncateTo(follower, TruncationOffset(row, m.diverging)), {})
  IN ReceiveResponse(n, row, m, use)

-----------------------------------------------------------------------------
(* The leader's own log: append, then flush as a step of its own.           *)

Step_HandleAppend(n, row, input) ==
  IF ~Running(row) THEN {}
  ELSE IF row.role # "Leader" THEN Ignore(n, row, "NotLeader")
  ELSE LET longer == [row EXCEPT
             !.log = Append(@, [epoch |-> row.epoch, value |-> input.value])]
       IN Finish(n, row, [longer EXCEPT !.flushed = FlushedAfterLeaderAppend(longer)], {})

(* Q14.  Flushed records count, and parked fetches that they serve return.  *)
Step_HandleFlush(n, row, input) ==
  IF ~Running(row) \/ row.flushed = EndOffset(row.log) THEN {}
  ELSE LET flushed == [row EXCEPT !.flushed = EndOffset(row.log)]
           counted == IF row.role = "Leader" THEN AdvanceHighWatermark(n, flushed) ELSE flushed
           served == {m \in row.parked : FetchedRecords(counted, m) # <<>>}
       IN Finish(n, row, [counted EXCEPT !.parked = @ \ served],
            {FetchResponse(counted, m, "NONE", FetchedRecords(counted, m), NoDivergence,
                           counted.highWatermark) : m \in served})

-----------------------------------------------------------------------------
(* Timers: 1.3.  An empty set of outcomes: the timer is not armed.          *)

Step_HandleElectionTimeout(n, row, input) ==
  CASE row.role \in {"Unattached", "Candidate"} -> Finish(n, row, BecomeProspective(n, row), {})
    [] row.role = "Prospective" -> Finish(n, row, PreVoteLost(row), {})
    [] row.role = "Resigned" ->
         Finish(n, row, BecomeUnattached(row, EpochAfterResigned(row.epoch)), {})
    [] OTHER -> {}

Step_HandleFetchTimeout(n, row, input) ==
  IF row.role = "Follower" THEN Finish(n, row, BecomeProspective(n, row), {}) ELSE {}

(* Resent for the whole leadership (1.3).                                   *)
Step_HandleBeginQuorumEpochTimeout(n, row, input) ==
  IF row.role = "Leader" THEN {FinishAsking(n, row, row, {}, "", Others(n))} ELSE {}

(* Voters by descending end offset, ties in either order (Q11).             *)
SuccessorLists(n, row) ==
  {s \in [1..Cardinality(Others(n)) -> Others(n)] :
     /\ {s[i] : i \in DOMAIN s} = Others(n)
     /\ \A i, j \in DOMAIN s : i < j => row.endOffsets[s[i]] >= row.endOffsets[s[j]]}

Resign(n, row) ==
  UNION {Finish(n, row, BecomeResigned(n, row, s), {}) : s \in SuccessorLists(n, row)}

Step_HandleCheckQuorumTimeout(n, row, input) ==
  IF row.role = "Leader" /\ CheckQuorumApplies THEN Resign(n, row) ELSE {}

Step_HandleResign(n, row, input) ==
  IF row.role = "Leader" THEN Resign(n, row) ELSE {}

(* A request timed out or its back-off is over: the connection is ready.    *)
Step_HandleRequestTimeout(n, row, input) ==
  IF ~Running(row) \/ row.connections[input.peer] = "Ready" THEN {}
  ELSE Finish(n, row, [row EXCEPT !.connections[input.peer] = "Ready"], {})

-----------------------------------------------------------------------------
(* Crash and restart: Q3, P23.  A crash loses everything volatile and any   *)
(* part of the unflushed tail; `keep` is where the log ends afterwards.     *)
(* A crash in the middle of a step is no case of its own: a step writes,    *)
(* syncs, then sends, so it is a crash before the step, or after it with    *)
(* what it sent lost (L2).                                                  *)

Step_HandleCrash(n, row, input) ==
  IF ~Running(row) \/ input.keep \notin row.flushed..EndOffset(row.log) THEN {}
  ELSE LET file == row.quorumState
           down == EnterRole(row, "Down", file.epoch, file.leader, file.voted)
       IN {[row |-> [down EXCEPT !.log = Prefix(@, input.keep), !.flushed = input.keep,
                                 !.highWatermark = Undefined, !.parked = {},
                                 !.announced = Undefined],
            sent |-> {}, ignored |-> ""]}

(* Q3.  What starting in a role means, once StartupRole has chosen it.      *)
StartIn(n, row, role) ==
  LET file == row.quorumState
      logEpoch == LastFetchedEpoch(row)
  IN CASE role = "Unattached" /\ file.epoch < logEpoch ->
            EnterRole(row, role, logEpoch, Nobody, Nobody)
       [] role = "Unattached" ->
            EnterRole(row, role, file.epoch, RememberedLeader(file), file.voted)
       [] role = "Follower" -> EnterRole(row, role, file.epoch, file.leader, file.voted)
       [] role = "Candidate" ->
            [EnterRole(row, role, file.epoch, Nobody, n) EXCEPT !.granted = {n}]
       [] role = "Resigned" -> BecomeResigned(n, row, <<>>)
       [] role = "Leader" -> BecomeLeader(n, row)

Step_HandleRestart(n, row, input) ==
  IF row.role # "Down" THEN {}
  ELSE LET up == [row EXCEPT
             !.epochCache = RecoveredEpochCache(@, EndOffset(row.log))]
           started == StartIn(n, up, StartupRole(n, row.quorumState, LastFetchedEpoch(up)))
       IN Finish(n, row,
            IF Voters = {n} THEN BecomeProspective(n, started) ELSE started, {})
=============================================================================
