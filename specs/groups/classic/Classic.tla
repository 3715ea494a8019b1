------------------------------- MODULE Classic -------------------------------
(***************************************************************************)
(* A group of the classic protocol: its coordinator, its members, a         *)
(* network.  Lifting turns the handlers into actions; bounds and budgets    *)
(* belong to models/.                                                       *)
(*                                                                          *)
(* What is left out of the network, and changes no property                 *)
(* (docs/reference/groups.md):                                              *)
(*  1. A request is sent and handled in one step, or it is lost.            *)
(*  2. An answer for which nobody waits is forgotten.                       *)
(*  3. A heartbeat is not sent of which nothing would come.                 *)
(***************************************************************************)
EXTENDS ClassicHandlers, ClassicMember

VARIABLES
  coordinator,   \* the row of the group's present coordinator
  clients,       \* clients[n]: the row of consumer n
  network        \* answers under way

Init ==
  /\ coordinator = InitialCoordinator
  /\ clients = [n \in Members |-> InitialMember]
  /\ network = {}

-----------------------------------------------------------------------------

IsRequest(m) == m.destination = Coordinator
Expected(messages, rows) ==
  {m \in messages : rows[m.destination].awaiting
                    /\ rows[m.destination].correlation = m.correlation}

Handled(m, row) ==
  CASE m.type = "JoinGroup" -> Step_HandleJoinGroup(Coordinator, row, m)
    [] m.type = "SyncGroup" -> Step_HandleSyncGroup(Coordinator, row, m)
    [] m.type = "ClassicHeartbeat" -> Step_HandleClassicHeartbeat(Coordinator, row, m)
    [] OTHER -> Step_HandleLeaveGroup(Coordinator, row, m)

(* A member has taken a step. Its request is handled, or lost.              *)
Lift(n, o, isLost) ==
  LET rows == [clients EXCEPT ![n] = o.row] IN
  /\ clients' = rows
  /\ IF o.sent = {} \/ isLost
     THEN /\ UNCHANGED coordinator
          /\ network' = Expected(network, rows)
     ELSE \E m \in o.sent : \E c \in Handled(m, coordinator) :
            /\ coordinator' = c.row
            /\ network' = Expected(network \cup c.sent, rows)

LiftMember(n, outcomes) == \E o \in outcomes : Lift(n, o, FALSE)
LoseRequest(n, outcomes) == \E o \in outcomes : o.sent # {} /\ Lift(n, o, TRUE)

LiftCoordinator(outcomes) ==
  \E o \in outcomes :
    /\ coordinator' = o.row
    /\ network' = Expected(network \cup o.sent, clients)
    /\ UNCHANGED clients

-----------------------------------------------------------------------------

Subscribe(n) == LiftMember(n, Step_HandleSubscribeClassic(n, clients[n], 0))
Unsubscribe(n) == LiftMember(n, Step_HandleUnsubscribeClassic(n, clients[n], 0))
RequestRejoin(n) == LiftMember(n, Step_HandleRequestRejoin(n, clients[n], 0))
SendJoinGroup(n) == LiftMember(n, Step_HandleSendJoinGroup(n, clients[n], 0))
RequestTimeout(n) == LiftMember(n, Step_HandleClassicRequestTimeout(n, clients[n], 0))

(* It receives something new.                                               *)
SendHeartbeat(n) ==
  /\ clients[n].state = "Stable"
  /\ MemberError(coordinator, [source |-> n, generation |-> clients[n].generation]) # "NONE"
  /\ LiftMember(n, Step_HandleSendClassicHeartbeat(n, clients[n], 0))

Heard(m) ==
  LET row == clients[m.destination] IN
  CASE m.type = "JoinGroupResponse" -> Step_HandleJoinGroupResponse(m.destination, row, m)
    [] m.type = "SyncGroupResponse" -> Step_HandleSyncGroupResponse(m.destination, row, m)
    [] OTHER -> Step_HandleClassicHeartbeatResponse(m.destination, row, m)

HearAnswer(m) == LiftMember(m.destination, Heard(m))
HearAnswerLoseRequest(m) == LoseRequest(m.destination, Heard(m))

SessionTimeout(n) ==
  LiftCoordinator(Step_HandleClassicSessionTimeout(Coordinator, coordinator, [member |-> n]))
RebalanceTimeout ==
  LiftCoordinator(Step_HandleClassicRebalanceTimeout(Coordinator, coordinator, 0))
Commit == LiftCoordinator(Step_HandleClassicCommit(Coordinator, coordinator, 0))
MoveCoordinator(tail) ==
  LiftCoordinator(Step_HandleMoveClassicCoordinator(Coordinator, coordinator, [tail |-> tail]))
=============================================================================
