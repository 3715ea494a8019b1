------------------------------- MODULE Shares --------------------------------
(***************************************************************************)
(* One share partition as a system: its leader, the share coordinator,      *)
(* consumers, and the persister's requests and answers between the two.     *)
(*                                                                          *)
(* What is left out of the network, and changes no property                 *)
(* (docs/reference/shares.md):                                              *)
(*  1. A consumer's request is handled in the step that sends it.  A lost   *)
(*     fetch answer is a record that its holder forgets.                    *)
(*  2. An answer of the leader reaches its consumer in the step that sends  *)
(*     it.                                                                  *)
(*  3. Every request of the persister is under way once.  It is sent again  *)
(*     when its answer is lost, or its coordinator fails.                   *)
(*  4. A consumer forgets a record when its lock runs out, or holds it on   *)
(*     (models/ has a budget).                                              *)
(***************************************************************************)
EXTENDS ShareHandlers

VARIABLES
  coordinator,   \* the row of the share coordinator
  leader,        \* the row of the partition's leader
  clients,       \* clients[n]: the row of consumer n
  network        \* requests of the persister, and their answers

vars == <<coordinator, leader, clients, network>>

Init ==
  /\ coordinator = InitialShareCoordinator
  /\ leader = InitialLeader
  /\ clients = [n \in Members |-> InitialConsumer]
  /\ network = {}

-----------------------------------------------------------------------------
(* Lifting.                                                                 *)

ToConsumers(sent) == {m \in sent : m.destination \in Members}

(* Each consumer handles the answers that are for it.  All of them together *)
(* have one result: an answer removes what it answers, or adds records.     *)
RECURSIVE Heard(_, _)
Heard(rows, sent) ==
  IF sent = {} THEN rows
  ELSE LET m == CHOOSE m \in sent : TRUE
           n == m.destination
           o == CHOOSE o \in IF m.type = "ShareFetchResponse"
                             THEN Step_HandleShareFetchResponse(n, rows[n], m)
                             ELSE Step_HandleShareAcknowledgeResponse(n, rows[n], m) : TRUE
       IN Heard([rows EXCEPT ![n] = o.row], sent \ {m})

LiftLeader(outcomes, rows, left) ==
  \E o \in outcomes :
    /\ leader' = o.row
    /\ clients' = Heard(rows, ToConsumers(o.sent))
    /\ network' = left \cup (o.sent \ ToConsumers(o.sent))
    /\ UNCHANGED coordinator

LiftCoordinator(outcomes, left) ==
  \E o \in outcomes :
    /\ coordinator' = o.row
    /\ network' = left \cup o.sent
    /\ UNCHANGED <<leader, clients>>

LiftClient(n, outcomes) ==
  \E o \in outcomes :
    /\ clients' = [clients EXCEPT ![n] = o.row]
    /\ UNCHANGED <<coordinator, leader, network>>

-----------------------------------------------------------------------------
(* Consumers.                                                               *)

FetchRecords(n) ==
  \E asked \in Step_HandlePollRecords(n, clients[n], 0) : \E m \in asked.sent :
    \E o \in Step_HandleShareFetch(Leader, leader, m) :
      o.row # leader /\ LiftLeader({o}, clients, network)

AcknowledgeRecords(n, first, last, kind) ==
  \E asked \in Step_HandleAcknowledgeRecords(n, clients[n],
                 [type |-> "AcknowledgeRecords", first |-> first, last |-> last, kind |-> kind]) :
    \E m \in asked.sent :
      LiftLeader(Step_HandleShareAcknowledge(Leader, leader, m),
                 [clients EXCEPT ![n] = asked.row], network)

ForgetRecord(n, offset) ==
  LiftClient(n, Step_HandleForgetRecord(n, clients[n],
                                        [type |-> "ForgetRecord", offset |-> offset]))

-----------------------------------------------------------------------------
(* The leader by itself.                                                    *)

(* The holder of the record forgets it.                                     *)
Forgets(offset) ==
  [n \in Members |-> [clients[n] EXCEPT !.held = {h \in @ : h.offset # offset}]]

LockTimeout(offset, rows) ==
  LiftLeader(Step_HandleLockTimeout(Leader, leader, [type |-> "LockTimeout", offset |-> offset]),
             rows, network)

(* A member whose connection is closed has no records, and no answers.      *)
SessionEnd(n) ==
  LiftLeader(Step_HandleSessionEnd(Leader, leader, [type |-> "SessionEnd", member |-> n]),
             [clients EXCEPT ![n].held = {}, ![n].asked = {}], network)

(* An attempt in flight still arrives.                                      *)
GiveUpWrite(write) ==
  LiftLeader(Step_HandleGiveUpWrite(Leader, leader, [type |-> "GiveUpWrite", write |-> write]),
             clients, network)

(* Locks end with their leader; nothing is guaranteed after it. Its         *)
(* consumers know the next one.                                             *)
NothingHeld ==
  [n \in Members |-> [clients[n] EXCEPT !.held = {}, !.leaderEpoch = leader.leaderEpoch + 1]]
MoveLeader(rows) == LiftLeader(Step_HandleMoveLeader(Leader, leader, 0), rows, network)
Recreate == LiftLeader(Step_HandleRecreate(Leader, leader, 0), clients, network)
ProduceBatch == LiftLeader(Step_HandleProduceBatch(Leader, leader, 0), clients, network)
MoveLogStart(to) ==
  LiftLeader(Step_HandleMoveLogStart(Leader, leader, [type |-> "MoveLogStart", to |-> to]),
             clients, network)

-----------------------------------------------------------------------------
(* The persister and the share coordinator.                                 *)

Requests == {"ReadShareGroupState", "WriteShareGroupState"}
IsRequest(m) == m.type \in Requests

(* A read of an earlier incarnation, and its answer, are forgotten.         *)
Awaited(m) ==
  m.type \in {"ReadShareGroupState", "ReadShareGroupStateResponse"} =>
    leader.phase = "Initializing" /\ m.incarnation = leader.incarnation

Arrive(m) ==
  /\ m \in network /\ IsRequest(m) /\ Awaited(m)
  /\ LiftCoordinator(IF m.type = "ReadShareGroupState"
                     THEN Step_HandleReadShareGroupState(Coordinator, coordinator, m)
                     ELSE Step_HandleWriteShareGroupState(Coordinator, coordinator, m),
                     network \ {m})

Hear(m) ==
  /\ m \in network /\ ~IsRequest(m)
  /\ LiftLeader(IF m.type = "ReadShareGroupStateResponse"
                THEN Step_HandleReadShareGroupStateResponse(Leader, leader, m)
                ELSE Step_HandleWriteShareGroupStateResponse(Leader, leader, m),
                clients, network \ {m})

StateCommit == LiftCoordinator(Step_HandleStateCommit(Coordinator, coordinator, 0), network)

(* What was requested, of an answer.                                        *)
RequestOf(m) ==
  IF m.type = "WriteShareGroupStateResponse" THEN {m.write}
  ELSE IF m.incarnation = leader.incarnation /\ leader.phase = "Initializing" THEN {Reads(leader)}
  ELSE {}

(* An answer is lost, and the request made again.                           *)
AnswerLost(m) ==
  /\ m \in network /\ ~IsRequest(m)
  /\ network' = (network \ {m}) \cup RequestOf(m)
  /\ UNCHANGED <<coordinator, leader, clients>>

(* Requests without an answer go to the new coordinator.                    *)
MoveShareCoordinator(tail) ==
  LiftCoordinator(Step_HandleMoveShareCoordinator(Coordinator, coordinator,
                    [type |-> "MoveShareCoordinator", tail |-> tail]),
                  network \cup UNION {RequestOf(m) : m \in coordinator.waiting})
=============================================================================
