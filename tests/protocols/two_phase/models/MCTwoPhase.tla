----------------------------- MODULE MCTwoPhase -----------------------------
(* The coordinator, its participants, and a network that never forgets.     *)
EXTENDS TwoPhase

CONSTANT MaxCrashes

VARIABLES coordinator, participants, network, crashes
vars == <<coordinator, participants, network, crashes>>

Init ==
  /\ coordinator = InitialCoordinator
  /\ participants = [p \in Participants |-> InitialParticipant]
  /\ network = {}
  /\ crashes = 0

OfCoordinator(outcome) ==
  /\ coordinator' = outcome.row
  /\ network' = network \cup outcome.sent
  /\ UNCHANGED participants

OfParticipant(p, outcome) ==
  /\ participants' = [participants EXCEPT ![p] = outcome.row]
  /\ network' = network \cup outcome.sent
  /\ UNCHANGED <<coordinator, crashes>>

To(n, type) == {m \in network : m.destination = n /\ m.type = type}

CoordinatorNext ==
  \/ /\ UNCHANGED crashes
     /\ \/ \E i \in Inputs_Begin(Coordinator, coordinator) :
             \E o \in Step_HandleBegin(Coordinator, coordinator, i) : OfCoordinator(o)
        \/ \E o \in Step_HandleRecover(Coordinator, coordinator, 0) : OfCoordinator(o)
        \/ /\ IsRunning(coordinator)
           /\ \/ \E m \in To(Coordinator, "Vote") :
                   \E o \in Step_HandleVote(Coordinator, coordinator, m) : OfCoordinator(o)
              \/ \E m \in To(Coordinator, "Confirm") :
                   \E o \in Step_HandleConfirm(Coordinator, coordinator, m) : OfCoordinator(o)
  \/ /\ crashes < MaxCrashes
     /\ crashes' = crashes + 1
     /\ \E o \in Step_HandleStop(Coordinator, coordinator, 0) : OfCoordinator(o)

ParticipantNext(p) ==
  \/ \E m \in To(p, "Prepare") :
       \E o \in Step_HandlePrepare(p, participants[p], m) : OfParticipant(p, o)
  \/ \E m \in To(p, "Decision") :
       \E o \in Step_HandleDecision(p, participants[p], m) : OfParticipant(p, o)
  \/ \E o \in Step_HandleRefuse(p, participants[p], 0) : OfParticipant(p, o)

Next == CoordinatorNext \/ \E p \in Participants : ParticipantNext(p)

(* What was decided stays so.                                               *)
DecisionIsKeptStep == coordinator.decision # "None" => coordinator'.decision = coordinator.decision
DecisionIsKept == [][DecisionIsKeptStep]_vars

(* Nobody has done what another has given up.                               *)
AllAgree == \A p, q \in Participants :
  ~(participants[p].state = "Committed" /\ participants[q].state = "Aborted")

(* Only here to fail: a participant may have to wait for a coordinator that is not there. *)
NobodyWaits == coordinator.up \/ \A p \in Participants : participants[p].state # "Prepared"
=============================================================================
