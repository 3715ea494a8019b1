---------------------------- MODULE MCMovingLife ----------------------------
(***************************************************************************)
(* MCMoving whose brokers come and go: they send heartbeats, are fenced     *)
(* when a session runs out, stop cleanly when they are let (R14), are       *)
(* unregistered (R15), crash, and register again, as often as they may.     *)
(* What is limited is spent from budgets: a session of who is up, a stop    *)
(* and an unregistration are each one that is gone.                         *)
(*                                                                          *)
(* An exchange with the controller is one step here too, and so are a start *)
(* and the registration. An unregistered broker that still runs is killed.  *)
(***************************************************************************)
EXTENDS MCMoving

CONSTANTS
  MaxGone,
  MaxCrashes,      \* of machines: what was not flushed may be lost
  OthersCrash,     \* whether those that are registered may be among them
  MaxFailovers,    \* of controllers
  MaxHolds         \* times that other partitions hold back a broker that wants to stop

VARIABLE gone      \* how much of each budget has been used

lifeVars == <<mcVars, gone>>

Lose(budget, limit) ==
  /\ gone[budget] < limit
  /\ gone' = [gone EXCEPT ![budget] = @ + 1]

ByBroker(n, outcomes) == \E o \in outcomes : Become([rows EXCEPT ![n] = o.row], controller, o.sent)

IsForgotten(n) ==
  controller.registrations[n].epoch = Undefined /\ rows[n].brokerEpoch # Undefined

Crashed(n, keep) ==
  ByBroker(n, Step_HandleBrokerCrash(n, rows[n], [keep |-> keep, corrupt |-> Undefined]))

SessionEnds(b) ==
  ByController(Step_HandleSessionTimeout(Controller, controller, [broker |-> b]))

Forgets(b) ==
  ByController(Step_HandleUnregisterBroker(Controller, controller, [broker |-> b]))

Told(b, hold) ==
  ByController(Step_HandleOtherPartitions(Controller, controller,
                                          [broker |-> b, hold |-> hold]))

Beats(n) ==
  Asks(n, Step_HandleSendHeartbeat, Step_HandleHeartbeatRequest, Step_HandleHeartbeatResponse)

(* A broker that is down starts, and registers when the controller accepts  *)
(* it: when the session of its former incarnation has ended.                *)
Starts(n, row, input) ==
  UNION {Step_HandleSendRegistration(n, o.row, input) :
           o \in Step_HandleBrokerRestart(n, row, input)}

Registered(c, row, m) ==
  Step_HandleRegisterBrokerRequest(c,
    [row EXCEPT !.contacts[m.source].live = @ /\ ~row.registrations[m.source].fenced], m)

ComesBack(n) ==
  /\ controller.registrations[n].fenced
  /\ Asks(n, Starts, Registered, Step_HandleRegisterBrokerResponse)

Goes(n) ==
  \/ Lose("gone", MaxGone) /\ ByBroker(n, Step_HandleControlledShutdown(n, rows[n], [none |-> 0]))
  \/ Lose("gone", MaxGone) /\ ~controller.registrations[n].fenced /\ IsUp(rows[n]) /\ SessionEnds(n)
  \/ Lose("gone", MaxGone) /\ Forgets(n)
  \/ /\ OthersCrash \/ IsForgotten(n)
     /\ Lose("crashes", MaxCrashes) /\ \E keep \in 0..EndOffset(rows[n].log) : Crashed(n, keep)
  \/ Lose("holds", MaxHolds) /\ Told(n, TRUE)

Comes(n) ==
  \/ Beats(n) \/ ComesBack(n)
  \/ ~controller.registrations[n].fenced /\ ~IsUp(rows[n]) /\ SessionEnds(n)
  \/ IsForgotten(n) /\ IsUp(rows[n]) /\ Crashed(n, EndOffset(rows[n].log))
  \/ Told(n, FALSE)

(* A broker that reads metadata reads all of it.                            *)
ReadsAll(n) ==
  \E o \in Step_HandleMetadataUpdate(n, rows[n],
             [type |-> "MetadataUpdate", offset |-> rows[n].image.offset,
              records |-> SubSeq(metadata, rows[n].image.offset - InitialOffset + 1,
                                 Len(metadata))]) :
    Become([rows EXCEPT ![n] = o.row], controller, o.sent)

LifeNext ==
  \/ \E n \in Brokers : (ReadsAll(n) \/ Fetch(n) \/ Alter(n)) /\ UNCHANGED <<spent, gone>>
  \/ \E n \in Brokers : ProduceRecord(n) /\ UNCHANGED gone
  \/ (GiveUp \/ \E target \in Targets : ReassignTo(target)) /\ UNCHANGED gone
  \/ \E n \in Brokers : Goes(n) /\ UNCHANGED spent
  \/ \E n \in Brokers : Comes(n) /\ UNCHANGED <<spent, gone>>
  \/ /\ Lose("failovers", MaxFailovers) /\ UNCHANGED spent
     /\ ByController(Step_HandleControllerFailover(Controller, controller, [none |-> 0]))

LifeInit == MCInit /\ gone = [gone |-> 0, crashes |-> 0, failovers |-> 0, holds |-> 0]

LifeSpec == LifeInit /\ [][LifeNext]_lifeVars

(* Of what a broker has said that it has read, the controller asks whether  *)
(* it follows the stop of another one; a future stop follows all.  The      *)
(* session of an unfenced broker lasts, and no other one matters.           *)
Contact(b) ==
  LET of(n) == controller.contacts[n] IN
  [stop |-> of(b).shutdownOffset,
   seen |-> {n \in Brokers : /\ of(n).shutdownOffset # Undefined
                             /\ of(n).shutdownOffset <= of(b).metadataOffset}]
LifeView ==
  <<rows, [controller EXCEPT !.contacts = [b \in Brokers |-> Contact(b)]], metadata, committed,
    acked, spent, gone>>

-----------------------------------------------------------------------------
(* An unfenced stopping broker stops when it leads nothing, here or         *)
(* elsewhere, and no active broker considers it the leader (R14).           *)

IsToStop(n) ==
  /\ rows[n].status = "ShuttingDown"
  /\ controller.registrations[n].stopping /\ ~controller.registrations[n].fenced

StopsCleanly(n) == rows'[n].status = "Down" /\ rows'[n].cleanShutdown # Undefined

Follows(b, n) ==
  /\ b # n /\ IsUp(rows[b]) /\ rows[b].image.partition.leader = n
  /\ ~controller.registrations[b].fenced /\ ~controller.registrations[b].stopping

StopsWhenSeen ==
  [][\A n \in Brokers :
       (IsToStop(n) /\ StopsCleanly(n)) =>
         /\ controller.partition.leader # n /\ n \notin controller.held
         /\ \A b \in Brokers : ~Follows(b, n)]_lifeVars

-----------------------------------------------------------------------------
(* Kafka's rule (BrokerHeartbeatManager, ClusterControlManager.activate;    *)
(* profile kafka-4.3, stop-is-soft): only the controller that received the  *)
(* request knows that a broker is stopping. Its successor lets the broker   *)
(* stop as soon as it leads nothing.                                        *)

NextSoftly(row, m) ==
  NextOfAllPartitions([row EXCEPT !.registrations[m.source].stopping =
                         row.contacts[m.source].shutdownOffset # Undefined], m)

FailoverForgetsStops(c, row, input) ==
  {[o EXCEPT !.row.contacts = [b \in Brokers |-> [@[b] EXCEPT !.shutdownOffset = Undefined]]] :
     o \in FailoverOfAllPartitions(c, row, input)}

(* For the twins: other partitions are ignored; an unregistered broker      *)
(* without proof of a clean shutdown has the epoch that it reports, which   *)
(* is none.                                                                 *)
NobodyLeadsElsewhere(row, b) == FALSE
NoProofIsProof(registration, m) == m.previousEpoch # registration.epoch

-----------------------------------------------------------------------------
(* Probes: that these never happen is refuted.                              *)

IsBack(n) == rows[n].status = "Running" /\ rows[n].incarnation > 0

NobodyStopsAndComesBack == \A n \in Brokers : ~(IsBack(n) /\ rows[n].previousEpoch # Undefined)
NobodyIsForgottenAndComesBack ==
  \A n \in Brokers : ~(/\ IsBack(n) /\ rows[n].previousEpoch = Undefined
                       /\ gone.crashes = 0 /\ ~controller.registrations[n].fenced)
NobodyIsHeldBack ==
  \A n \in Brokers : ~(n \in controller.held /\ IsToStop(n) /\ controller.partition.leader # n)
NoForgottenLeads ==
  \A n \in Brokers : ~(IsForgotten(n) /\ IsLeader(rows[n]))
=============================================================================
