------------------------------- MODULE Groups -------------------------------
(***************************************************************************)
(* A consumer group: its coordinator, its members, a network.  Lifting      *)
(* turns the handlers into actions; bounds and budgets belong to models/.   *)
(*                                                                          *)
(* What is left out of the network, and changes no property                 *)
(* (docs/reference/groups.md):                                              *)
(*  1. A heartbeat is sent and handled in one step, or it is lost.  What a  *)
(*     member does in between, it can do after, before it is answered.      *)
(*  2. An answer for which nobody waits is forgotten.                       *)
(*  3. A heartbeat is not sent of which nothing would come.                 *)
(*  4. With one coordinator, a record is committed in the step that appends *)
(*     it: nothing can be lost, so nobody can tell.                         *)
(***************************************************************************)
EXTENDS GroupHandlers, MembershipClient

VARIABLES
  coordinator,   \* the row of the group's present coordinator
  clients,       \* clients[n]: the row of consumer n
  network        \* answers under way; heartbeats that arrive late

Init ==
  /\ coordinator = InitialCoordinator
  /\ clients = [n \in Members |-> InitialMember]
  /\ network = {}

-----------------------------------------------------------------------------
(* Lifting.                                                                 *)

IsAnswer(m) == m.type = "GroupHeartbeatResponse"
Expected(messages, rows) ==
  {m \in messages : IsAnswer(m) => rows[m.destination].awaiting}

(* The responses that wait for a commit. If a rule uses them (Z95), the     *)
(* model keeps all.                                                         *)
Remembered(waiting, rows) == Expected(waiting, rows)
All(waiting, rows) == waiting

(* With one coordinator, what follows from an operation.                    *)
CommittedAtOnce(outcome) ==
  IF MaxCoordinators > 1 \/ outcome.row.log.leader = <<>> THEN outcome
  ELSE LET done == CHOOSE o \in Step_HandleGroupCommit(Coordinator, outcome.row, 0) : TRUE
       IN [done EXCEPT !.sent = @ \cup outcome.sent]

Lift(outcome, rows, left) ==
  LET done == CommittedAtOnce(outcome) IN
  /\ coordinator' = [done.row EXCEPT !.waiting = Remembered(@, rows)]
  /\ clients' = rows
  /\ network' = Expected(left \cup done.sent, rows)

LiftCoordinator(outcomes) == \E o \in outcomes : Lift(o, clients, network)

LiftMember(n, outcomes) ==
  \E o \in outcomes :
    Lift([row |-> coordinator, sent |-> {}], [clients EXCEPT ![n] = o.row], network)

-----------------------------------------------------------------------------
(* Heartbeats.                                                              *)

(* The member has nothing to report, and receives nothing new.              *)
IsIdle(row, m, outcome) ==
  /\ outcome.row.log = coordinator.log
  /\ m.given = {} /\ row.state # "Acknowledging"
  /\ \A a \in outcome.sent \cup outcome.row.waiting :
       a.destination = m.source =>
         a.error = "NONE" /\ a.epoch = row.epoch /\ ~a.tells

SendGroupHeartbeat(n) ==
  \E told \in Step_HandleSendGroupHeartbeat(n, clients[n], 0) : \E m \in told.sent :
    \E o \in Step_HandleGroupHeartbeat(Coordinator, coordinator, m) :
      /\ ~IsIdle(clients[n], m, o)
      /\ Lift(o, [clients EXCEPT ![n] = told.row], network)

(* Nobody gets it, until late perhaps; the member waits in vain.            *)
LoseHeartbeat(n, late) ==
  \E told \in Step_HandleSendGroupHeartbeat(n, clients[n], 0) :
    \E o \in Step_HandleHeartbeatTimeout(n, told.row, 0) :
      Lift([row |-> coordinator, sent |-> IF late THEN told.sent ELSE {}],
           [clients EXCEPT ![n] = o.row], network)

(* A heartbeat whose member does not wait for an answer any more.           *)
LateHeartbeat(m) ==
  /\ m \in network /\ ~IsAnswer(m)
  /\ \E o \in Step_HandleGroupHeartbeat(Coordinator, coordinator, m) :
       Lift([row |-> [o.row EXCEPT !.waiting = coordinator.waiting], sent |-> {}], clients,
            network \ {m})

HearAnswer(m) ==
  /\ m \in network /\ IsAnswer(m)
  /\ LiftMember(m.destination, Step_HandleGroupHeartbeatResponse(m.destination,
                                                    clients[m.destination], m))

(* An answer is lost, or was never given.                                   *)
HeartbeatTimeout(n) == LiftMember(n, Step_HandleHeartbeatTimeout(n, clients[n], 0))

-----------------------------------------------------------------------------
(* Members by themselves.                                                   *)

Subscribe(n, topics) ==
  LiftMember(n, Step_HandleSubscribe(n, clients[n], [type |-> "Subscribe", topics |-> topics]))

Unsubscribe(n) ==
  \E told \in Step_HandleUnsubscribe(n, clients[n], 0) : \E m \in told.sent :
    \E o \in Step_HandleGroupHeartbeat(Coordinator, coordinator, m) :
      Lift(o, [clients EXCEPT ![n] = told.row], network)

StartReconciliation(n) == LiftMember(n, Step_HandleStartReconciliation(n, clients[n], 0))
CompleteReconciliation(n) == LiftMember(n, Step_HandleCompleteReconciliation(n, clients[n], 0))

-----------------------------------------------------------------------------
(* The coordinator by itself.                                               *)

GroupSessionTimeout(n) ==
  LiftCoordinator(Step_HandleGroupSessionTimeout(Coordinator, coordinator,
                                            [type |-> "GroupSessionTimeout", member |-> n]))
GrowTopic(p) ==
  LiftCoordinator(Step_HandleGrowTopic(Coordinator, coordinator,
                                       [type |-> "GrowTopic", partition |-> p]))
DeleteTopic(p) ==
  LiftCoordinator(Step_HandleDeleteTopic(Coordinator, coordinator,
                                         [type |-> "DeleteTopic", partition |-> p]))
GroupCommit == LiftCoordinator(Step_HandleGroupCommit(Coordinator, coordinator, 0))

(* Responses in flight are lost; their receivers retry.                     *)
MoveCoordinator(tail) ==
  LiftCoordinator(Step_HandleMoveCoordinator(Coordinator, coordinator,
                                             [type |-> "MoveCoordinator", tail |-> tail]))
=============================================================================
