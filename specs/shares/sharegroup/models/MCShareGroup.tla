----------------------------- MODULE MCShareGroup -----------------------------
(***************************************************************************)
(* A share group's state within bounds, and what must happen in the end.    *)
(***************************************************************************)
EXTENDS ShareGroupProperties

CONSTANTS
  MaxUnderWay,   \* messages
  MaxLosses,     \* messages that are lost
  Unfair         \* names of actions without fairness, for models in which liveness fails

VARIABLE losses

mcVars == <<vars, losses>>

MCInit == Init /\ losses = 0

Lossless(Action) == Action /\ UNCHANGED losses

MCNext ==
  \/ Lossless(SubscribeTopic) \/ Lossless(DeleteOffsets) \/ Lossless(RetryGroup)
  \/ \E start \in 1 .. Records : Lossless(AlterOffsets(start))
  \/ Lossless(LoadState) \/ Lossless(AcknowledgeNext) \/ Lossless(RetryState)
  \/ Lossless(MoveStateLeader) \/ Lossless(ProduceRecord)
  \/ \E m \in network :
       \/ Lossless(Arrive(m))
       \/ losses < MaxLosses /\ losses' = losses + 1 /\ Lose(m)

MCSpec == MCInit /\ [][MCNext]_mcVars

(* Bounds: what has more is not followed.                                   *)
WithinNetwork == Cardinality(network) <= MaxUnderWay

(* Retries, requests and responses are fair.                                *)
Wanted(name, Action) == name \notin Unfair /\ Lossless(Action)
OfGroup == {"InitializeState", "InitializeStateResponse", "DeleteState", "DeleteStateResponse"}
LiveSpec ==
  /\ MCSpec
  /\ WF_mcVars(Wanted("RetryGroup", RetryGroup))
  /\ \A type \in OfGroup :
       WF_mcVars(Wanted("Arrive", \E m \in network : m.type = type /\ Arrive(m)))

(* The group does not initialize or delete for ever.                        *)
InitializingEnds ==
  /\ []<>(group.state # "Initializing")
  /\ []<>(group.state # "Deleting")

(* What must be reached.                                                    *)
NoFencedWriteProbe ==
  \A m \in network : m.type = "WriteStateResponse" => m.error # "FENCED_STATE_EPOCH"
NoLateInitializeProbe ==
  \A m \in network : m.type = "InitializeStateResponse" => m.error = "NONE"
=============================================================================
