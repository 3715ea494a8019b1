------------------------------- MODULE Sessions -------------------------------
(***************************************************************************)
(* Share sessions as a system: a broker, consumers, and what is under way   *)
(* between them.                                                            *)
(*                                                                          *)
(* A consumer has one request under way on a connection, so a connection    *)
(* delivers once and in order.  Requests of a former connection, and its    *)
(* end, reach the broker at any time, in any order.  A response on a former *)
(* connection is forgotten.                                                 *)
(***************************************************************************)
EXTENDS SessionHandlers

VARIABLES
  broker,    \* the broker's row
  clients,   \* clients[n]: the row of consumer n
  network

vars == <<broker, clients, network>>

Init ==
  /\ broker = InitialSessionBroker
  /\ clients = [n \in Members |-> InitialSessionClient]
  /\ network = {}

LiftClient(n, outcomes, left) ==
  \E o \in outcomes :
    /\ clients' = [clients EXCEPT ![n] = o.row]
    /\ network' = {m \in left : m.destination = n => m.connection = o.row.connection} \cup o.sent
    /\ UNCHANGED broker

LiftBroker(outcomes, left) ==
  \E o \in outcomes :
    /\ broker' = o.row
    /\ network' = left \cup {m \in o.sent : m.connection = clients[m.destination].connection}
    /\ UNCHANGED clients

-----------------------------------------------------------------------------

PollSession(n) == LiftClient(n, Step_HandlePollSession(n, clients[n], 0), network)
AcknowledgeDelivery(n, offset) ==
  LiftClient(n, Step_HandleAcknowledgeDelivery(n, clients[n],
                  [type |-> "AcknowledgeDelivery", offset |-> offset]), network)
CommitSession(n) == LiftClient(n, Step_HandleCommitSession(n, clients[n], 0), network)
CloseSession(n) == LiftClient(n, Step_HandleCloseSession(n, clients[n], 0), network)
ConnectionLost(n) == LiftClient(n, Step_HandleConnectionLost(n, clients[n], 0), network)

Hear(m) ==
  /\ m \in network /\ m.destination \in Members
  /\ LiftClient(m.destination,
                IF m.type = "SessionFetchResponse"
                THEN Step_HandleSessionFetchResponse(m.destination, clients[m.destination], m)
                ELSE Step_HandleSessionAcknowledgeResponse(m.destination,
                                                           clients[m.destination], m),
                network \ {m})

Arrive(m) ==
  /\ m \in network /\ m.destination = Broker
  /\ LiftBroker(CASE m.type = "SessionFetch" -> Step_HandleSessionFetch(Broker, broker, m)
                  [] m.type = "SessionAcknowledge" ->
                       Step_HandleSessionAcknowledge(Broker, broker, m)
                  [] OTHER -> Step_HandleConnectionClosed(Broker, broker, m),
                network \ {m})

AcquisitionLockTimeout(offset) ==
  LiftBroker(Step_HandleAcquisitionLockTimeout(Broker, broker,
               [type |-> "AcquisitionLockTimeout", offset |-> offset]), network)

(* Requests under way are lost with the broker.                             *)
SessionsLost ==
  LiftBroker(Step_HandleSessionsLost(Broker, broker, 0),
             {m \in network : m.destination # Broker \/ m.type = "ConnectionClosed"})
=============================================================================
