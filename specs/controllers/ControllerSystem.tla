--------------------------- MODULE ControllerSystem ----------------------------
(***************************************************************************)
(* Controllers as a system: the metadata log, controllers, and clients.     *)
(*                                                                          *)
(* What the log and a controller tell each other arrives once and in order: *)
(* they are one process, with a queue of events.  A response arrives at     *)
(* once, so a property is checked when it was sent.                         *)
(***************************************************************************)
EXTENDS ControllerHandlers

VARIABLES
  log,           \* the metadata log's row
  controllers,   \* controllers[n]: the row of controller n
  clients,       \* the clients' row
  appends,       \* appends[n]: on the way from controller n to the log
  events         \* events[n]: on the way from the log to controller n

vars == <<log, controllers, clients, appends, events>>

Init ==
  /\ log = InitialMetadataLog
  /\ controllers = [n \in Controllers |-> InitialController]
  /\ clients = InitialClients
  /\ appends = [n \in Controllers |-> <<>>]
  /\ events = [n \in Controllers |-> <<>>]

RECURSIVE InOrder(_)
InOrder(messages) ==
  IF messages = {} THEN <<>>
  ELSE LET m == CHOOSE m \in messages : TRUE IN <<m>> \o InOrder(messages \ {m})
To(n, messages) == {m \in messages : m.destination = n}

RECURSIVE Heard(_, _)
Heard(row, messages) ==
  IF messages = {} THEN row
  ELSE LET m == CHOOSE m \in messages : TRUE
           heard == CHOOSE o \in Step_HandleControllerResponse(Clients, row, m) : TRUE
       IN Heard(heard.row, messages \ {m})

LiftLog(outcomes) ==
  \E o \in outcomes :
    /\ log' = o.row
    /\ events' = [n \in Controllers |-> events[n] \o InOrder(To(n, o.sent))]
    /\ UNCHANGED <<controllers, clients>>

LiftController(n, outcomes) ==
  \E o \in outcomes :
    /\ controllers' = [controllers EXCEPT ![n] = o.row]
    /\ appends' = [appends EXCEPT ![n] = @ \o InOrder(To(MetadataLog, o.sent))]
    /\ clients' = Heard(clients, To(Clients, o.sent))
    /\ UNCHANGED log

-----------------------------------------------------------------------------

AppendArrives(n) ==
  /\ appends[n] # <<>>
  /\ appends' = [appends EXCEPT ![n] = Tail(@)]
  /\ LiftLog(Step_HandleScheduleAppend(MetadataLog, log, Head(appends[n])))

Elect(voter, end) ==
  /\ LiftLog(Step_HandleElectVoter(MetadataLog, log,
                                   [type |-> "ElectVoter", voter |-> voter, end |-> end]))
  /\ UNCHANGED appends

AdvanceHighWatermark ==
  LiftLog(Step_HandleAdvanceHighWatermark(MetadataLog, log, 0)) /\ UNCHANGED appends

Request(n, writes) ==
  /\ LiftController(n, Step_HandleWriteEvent(n, controllers[n],
                         [type |-> "WriteEvent", writes |-> writes]))
  /\ UNCHANGED events

EventArrives(n) ==
  /\ events[n] # <<>>
  /\ events' = [events EXCEPT ![n] = Tail(@)]
  /\ LET m == Head(events[n]) IN
     LiftController(n, IF m.type = "BatchCommitted"
                       THEN Step_HandleBatchCommitted(n, controllers[n], m)
                       ELSE Step_HandleLeaderAndEpoch(n, controllers[n], m))

Next ==
  \/ AdvanceHighWatermark
  \/ \E n \in Controllers :
       \/ AppendArrives(n) \/ EventArrives(n)
       \/ \E writes \in BOOLEAN : Request(n, writes)
       \/ \E end \in 0 .. Len(log.records) : Elect(n, end)
=============================================================================
