-------------------------- MODULE MCGroupsLiveness ---------------------------
(***************************************************************************)
(* Liveness. Members, who send heartbeats, receive responses and run their  *)
(* callbacks, and the log are fair. Unfair names the omitted fairness       *)
(* conditions, for twins in which the property fails.                       *)
(***************************************************************************)
EXTENDS MCGroups

CONSTANT Unfair

(* An action that never can be taken is fair.                               *)
Wanted(name, Action) == name \notin Unfair /\ Action

Fairness ==
  /\ WF_mcVars(Wanted("GroupCommit", Free(GroupCommit)))
  /\ \A n \in Members :
       /\ WF_mcVars(\E topics \in Subscriptions : ~HasLeft(n)
                      /\ clients[n].state = "Unsubscribed" /\ Free(Subscribe(n, topics)))
       /\ WF_mcVars(Wanted("SendGroupHeartbeat", Free(SendGroupHeartbeat(n))))
       /\ WF_mcVars(Wanted("HearAnswer", \E m \in network :
                             m.destination = n /\ Free(HearAnswer(m))))
       /\ WF_mcVars(Wanted("HeartbeatTimeout", IsAnswerLost(n) /\ Free(HeartbeatTimeout(n))))
       /\ WF_mcVars(Wanted("StartReconciliation", Free(StartReconciliation(n))))
       /\ WF_mcVars(Wanted("CompleteReconciliation", Free(CompleteReconciliation(n))))

LiveSpec == MCSpec /\ Fairness

(* In the end each member that stays has its target, and nothing is without *)
(* an owner.                                                                *)
Settled ==
  LET group == Now(coordinator)
      staying == {n \in Members : ~HasLeft(n)}
  IN /\ group.targetEpoch = group.epoch
     /\ \A n \in staying :
          /\ group.members[n].state = "Stable" /\ group.members[n].epoch = group.epoch
          /\ clients[n].state = "Stable" /\ clients[n].owned = group.members[n].target
     /\ staying # {} => UNION {clients[n].owned : n \in staying} =
                          UNION {clients[n].subscribed : n \in staying}
Converges == <>[]Settled
=============================================================================
