---------------------------- MODULE GroupCommits -----------------------------
(***************************************************************************)
(* Groups with the offsets that members commit, as one system: the handlers *)
(* of Groups and CommitHandlers, with less of a network between them.       *)
(*                                                                          *)
(* What is left out, and changes no property (docs/reference/groups.md):    *)
(*  1. A committed offset is requested and returned in one step.            *)
(*  2. One commit is in flight, of all members.                             *)
(*  3. A coordinator commits what it appends in the same step, or stalls:   *)
(*     then it commits nothing any more.  A commit that comes later is an   *)
(*     answer that travels longer.                                          *)
(*  4. The last coordinator does not stall, and commits what it has loaded  *)
(*     in the step that loads it.                                           *)
(*  5. Another coordinator takes over from one that has stalled only.  Who  *)
(*     then has no answer to wait for notices it in the same step.          *)
(***************************************************************************)
EXTENDS GroupProperties, CommitHandlers

(* Numbers begin where they wrap, so that no state differs in that alone.   *)
CommitsInit ==
  /\ coordinator = InitialCommitsCoordinator
  /\ clients = [n \in Members |-> [FirstMember EXCEPT !.correlation = MaxCorrelation]]
  /\ network = {}

-----------------------------------------------------------------------------
(* These replace operators of Groups (models/*.cfg).                        *)

Of(messages, n) == {m \in messages : m.destination = n}

IsFailOver == coordinator'.leaderEpoch # coordinator.leaderEpoch
IsLastTenure(row) == row.leaderEpoch = MaxCoordinators
CommittedAll(outcome) ==
  [outcome EXCEPT !.row.log = Committed(@), !.row.waiting = {},
                  !.sent = @ \cup outcome.row.waiting]

(* Requests that wait for a stalled coordinator are forgotten, because they *)
(* get no response.                                                         *)
Outcomes(outcome) ==
  LET stalled == [outcome EXCEPT !.row.waiting = {}] IN
  CASE IsLastTenure(outcome.row) -> {CommittedAll(outcome)}
    [] outcome.row.log.leader = <<>> -> {outcome}
    [] coordinator.log.leader # <<>> -> {stalled}
    [] OTHER -> {stalled, CommittedAll(outcome)}

LiftOrStall(outcome, rows, left) ==
  \E done \in Outcomes(outcome) :
    /\ coordinator' = done.row
    /\ clients' = rows
    /\ network' = Expected(left \cup done.sent, rows)

-----------------------------------------------------------------------------
(* Offsets.                                                                 *)

(* The answer comes in the same step, or never.                             *)
HeardIn(n, row, sent) ==
  IF sent = {} THEN {row}
  ELSE {o.row : o \in UNION {IF m.type = "OffsetFetchResponse"
                             THEN Step_HandleOffsetFetchResponse(n, row, m)
                             ELSE Step_HandleOffsetCommitResponse(n, row, m) : m \in sent}}

AskOffset(n) ==
  \E asked \in Step_HandleAskOffset(n, clients[n], 0) : \E m \in asked.sent :
    \E o \in Step_HandleOffsetFetch(Coordinator, coordinator, m) :
      \E heard \in HeardIn(n, asked.row, o.sent) :
        /\ heard # clients[n]
        /\ clients' = [clients EXCEPT ![n] = heard]
        /\ UNCHANGED <<coordinator, network>>

RequestCommit(n, offset) ==
  /\ \A m \in Members : clients[m].requested = {}
  /\ \E o \in Step_HandleRequestCommit(n, clients[n],
                                       [type |-> "RequestCommit", offset |-> offset]) :
       clients' = [clients EXCEPT ![n] = o.row]
  /\ UNCHANGED <<coordinator, network>>

(* A response arrives in the step that sends it.                            *)
CommitOffsets(n) ==
  \E asked \in Step_HandleCommitOffsets(n, clients[n], 0) : \E m \in asked.sent :
    \E o \in Step_HandleOffsetCommit(Coordinator, coordinator, m) :
      \E done \in IF o.row = coordinator THEN {o} ELSE Outcomes(o) :
        \E heard \in HeardIn(n, asked.row, done.sent) :
          /\ coordinator' = done.row
          /\ clients' = [clients EXCEPT ![n] = heard]
          /\ UNCHANGED network

(* Another coordinator takes over from a stalled one (otherwise it would    *)
(* find the other's responses committed). A member that then waits for no   *)
(* response retries.                                                        *)
FailOver(tail) ==
  LET unanswered(n) == clients[n].awaiting /\ Of(network, n) = {}
      rows == [n \in Members |->
                 SentAs(IF unanswered(n) THEN Failed(clients[n]) ELSE clients[n], FALSE)]
  IN /\ coordinator.log.leader # <<>>
     /\ \E o \in Step_HandleMoveCoordinator(Coordinator, coordinator,
                                            [type |-> "MoveCoordinator", tail |-> tail]) :
          LiftOrStall(o, rows, network)
=============================================================================
