------------------------------ MODULE MCLease -------------------------------
(***************************************************************************)
(* The server, its clients, and a network that never forgets a message.     *)
(***************************************************************************)
EXTENDS Lease

CONSTANT MaxToken

VARIABLES server, clients, network
vars == <<server, clients, network>>

Init == server = InitialServer /\ clients = [c \in Clients |-> InitialClient] /\ network = {}

OfServer(outcome) ==
  /\ server' = outcome.row
  /\ network' = network \cup outcome.sent
  /\ UNCHANGED clients

OfClient(c, outcome) ==
  /\ clients' = [clients EXCEPT ![c] = outcome.row]
  /\ network' = network \cup outcome.sent
  /\ UNCHANGED server

To(n, type) == {m \in network : m.destination = n /\ m.type = type}

Next ==
  \/ \E m \in To(Server, "AcquireRequest") :
       \E o \in Step_HandleAcquireRequest(Server, server, m) : OfServer(o)
  \/ \E m \in To(Server, "WriteRequest") :
       \E o \in Step_HandleWriteRequest(Server, server, m) : OfServer(o)
  \/ \E o \in Step_HandleServerTick(Server, server, 0) : OfServer(o)
  \/ \E c \in Clients :
       \/ \E m \in To(c, "Granted") : \E o \in Step_HandleGranted(c, clients[c], m) : OfClient(c, o)
       \/ \E m \in To(c, "WriteResponse") :
            \E o \in Step_HandleWriteResponse(c, clients[c], m) : OfClient(c, o)
       \/ \E o \in Step_HandleClientTick(c, clients[c], 0) : OfClient(c, o)
       \/ \E o \in Step_HandleAcquire(c, clients[c], 0) : OfClient(c, o)
       \/ \E o \in Step_HandleWrite(c, clients[c], 0) : OfClient(c, o)

Bounded == server.token <= MaxToken

(* No write is accepted after one of a later lease.                         *)
WrittenRisesStep == server'.written >= server.written
WrittenRises == [][WrittenRisesStep]_vars

(* A token belongs to one lease: what a client has, the server has given.   *)
TokensAreGiven == \A c \in Clients : clients[c].token <= server.token

(* Only here to fail: two clients may well believe in their leases at once. *)
OneBelieves == \A c, d \in Clients : clients[c].left > 0 /\ clients[d].left > 0 => c = d
=============================================================================
