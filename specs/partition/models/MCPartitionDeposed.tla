------------------------- MODULE MCPartitionDeposed -------------------------
(***************************************************************************)
(* MCPartition, whose controller is replaced once: the next continues from   *)
(* what is committed, and the deposed one may answer an AlterPartition in   *)
(* its stead.  A request goes to one of the two.  To whom is left free,     *)
(* also where a broker of Kafka would know better.                          *)
(*                                                                          *)
(* A fetch is served and used at once, and a fenced broker's heartbeat is   *)
(* one step.  What a deposed controller answers to heartbeats moves nobody  *)
(* here: all brokers are running.                                           *)
(***************************************************************************)
EXTENDS MCPartition, DeposedController

VARIABLE deposed

deposedVars == <<mcVars, deposed>>

DeposedInit == MCInit /\ deposed = NobodyDeposed

ControllerDeposed ==
  /\ deposed.knows = "NotYet" /\ HandleControllerFailover
  /\ deposed' = DeposedOf(controller)

(* `left` is who has asked the successor since.                             *)
DeposedAnswers ==
  \E m \in Deliverable(network, Controller, "AlterPartitionRequest") :
    \E outcome \in StepOfDeposed(Step_HandleAlterPartitionRequest, deposed, m) :
      /\ m.source \notin deposed.left \/ HearsDeposed
      /\ deposed' = outcome.row
      /\ network' = (network \ {m})
                    \cup {r \in outcome.sent : rows[m.source].alterRequest = m}
      /\ UNCHANGED <<rows, controller, metadata>>

(* Who asks the present controller.                                         *)
Asking ==
  IF spent' # spent THEN {}
  ELSE {m.source : m \in Deliverable(network \ network', Controller, "AlterPartitionRequest")}

(* It learns of its successor, or its process ends.                         *)
DeposedHears ==
  /\ deposed.knows = "Nothing" /\ deposed' = Silenced
  /\ UNCHANGED <<rows, controller, metadata, network>>

FetchAtOnce(n) ==
  LET m == ReplicaFetchRequest(n, rows[n])
      l == rows[n].leader
  IN /\ IsUp(rows[n]) /\ rows[n].role = "Follower" /\ l # Nobody /\ IsUp(rows[l])
     /\ \E served \in Step_HandleReplicaFetchRequest(l, rows[l], m) :
          \E reply \in {r \in served.sent : r.type = "ReplicaFetchResponse"} :
            \E used \in Step_HandleReplicaFetchResponse(n, [rows[n] EXCEPT !.fetching = {m}],
                                                        reply) :
              /\ rows' = [rows EXCEPT ![l] = served.row, ![n] = used.row]
              /\ network' = network \cup (served.sent \ {reply})
     /\ UNCHANGED <<controller, metadata, deposed>>

UnfencedAtOnce(n) ==
  /\ controller.registrations[n].fenced
  /\ \E outcome \in Step_HandleHeartbeatRequest(Controller, controller,
                                                HeartbeatRequest(n, rows[n])) :
       /\ controller' = outcome.row
       /\ metadata' = AppendedTo(metadata, outcome.sent)
  /\ UNCHANGED <<rows, network, deposed>>

OfDeposed ==
  \/ ControllerDeposed
  \/ DeposedAnswers
  \/ DeposedHears

DeposedNext ==
  \/ /\ MCNext
     /\ deposed' = IF deposed.knows = "Nothing" THEN [deposed EXCEPT !.left = @ \cup Asking]
                   ELSE deposed
  \/ /\ OfDeposed \/ \E n \in Brokers : FetchAtOnce(n) \/ UnfencedAtOnce(n)
     /\ UNCHANGED spent /\ HistoryNext

DeposedSpec == DeposedInit /\ [][DeposedNext]_deposedVars

(* No step uses the contacts of a deposed controller.                       *)
DeposedView ==
  <<rows, [controller EXCEPT !.contacts = Sessions], metadata,
    {m \in network : Alive(m)}, committed, acked, spent,
    [deposed EXCEPT !.row.contacts = InitialController.contacts]>>

-----------------------------------------------------------------------------
(* Probes: a leader acts on what a deposed controller said: it gives up     *)
(* what it proposed, though the present one would take it.                  *)

TakenByPresent(request) ==
  AlterPartitionError(controller, request) = "NONE"

NoStaleRefusalProbe ==
  \A m \in network :
    m.type = "AlterPartitionResponse" /\ m.error = "INELIGIBLE_REPLICA"
      => ~TakenByPresent(m.request)
=============================================================================
