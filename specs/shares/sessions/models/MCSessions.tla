------------------------------ MODULE MCSessions ------------------------------
(***************************************************************************)
(* Share sessions within bounds.                                            *)
(***************************************************************************)
EXTENDS SessionProperties

CONSTANTS
  MaxEpochs,     \* the last epoch of a session
  MaxTimeouts,   \* locks that run out
  MaxRestarts,   \* of the broker
  MaxCloses      \* consumers that are closed

VARIABLE spent   \* of the budgets

mcVars == <<vars, spent>>

Symmetry == Permutations(Members)

MCInit == Init /\ spent = [timeouts |-> 0, closes |-> 0]

Unpaid(Action) == Action /\ UNCHANGED spent
Paid(what, most, Action) ==
  /\ spent[what] < most /\ Action
  /\ spent' = [spent EXCEPT ![what] = @ + 1]

MCNext ==
  \/ \E n \in Members :
       \/ Unpaid(PollSession(n)) \/ Unpaid(CommitSession(n)) \/ Unpaid(ConnectionLost(n))
       \/ \E o \in Offsets : Unpaid(AcknowledgeDelivery(n, o))
       \/ Paid("closes", MaxCloses, CloseSession(n))
  \/ \E m \in network : Unpaid(Hear(m)) \/ Unpaid(Arrive(m))
  \/ \E o \in Offsets : Paid("timeouts", MaxTimeouts, AcquisitionLockTimeout(o))
  \/ broker.restarts < MaxRestarts /\ Unpaid(SessionsLost)

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Bounds: what has more is not followed.                                   *)
WithinEpochs == \A n \in Members : broker.sessions[n].epoch <= MaxEpochs

(* What must be reached.                                                    *)
NoErrorProbe == \A m \in network : m.destination \in Members => m.error = "NONE"
NoRefusalProbe == \A m \in network : m.destination \in Members => m.refused = {}
=============================================================================
