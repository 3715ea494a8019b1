------------------------- MODULE MCGroupsRebalance --------------------------
(***************************************************************************)
(* A consumer group within bounds, where a member that does not revoke      *)
(* within its rebalance timeout is removed (G20).                           *)
(***************************************************************************)
EXTENDS MCGroupsLiveness

CONSTANT MaxRebalances   \* rebalances that time out

RebalanceTimeout(n) ==
  LiftCoordinator(Step_HandleRebalanceTimeout(Coordinator, coordinator,
                                              [type |-> "RebalanceTimeout", member |-> n]))
IsLate(n) == Paid("rebalances", MaxRebalances, RebalanceTimeout(n))

MCInitRebalance ==
  /\ Init
  /\ spent = [timeouts |-> 0, expiries |-> 0, leaves |-> 0, changes |-> 0, rebalances |-> 0]
MCNextRebalance == MCNext \/ \E n \in Members : IsLate(n)
MCSpecRebalance == MCInitRebalance /\ [][MCNextRebalance]_mcVars

LiveSpecRebalance ==
  /\ MCSpecRebalance
  /\ Fairness
  /\ \A n \in Members : WF_mcVars(Wanted("RebalanceTimeout", IsLate(n)))

(* Nobody is waited for without end, though its application never comes to  *)
(* revoke, as long as time is not spent.                                    *)
Server(n) == Now(coordinator).members[n]
RevocationEnds ==
  \A n \in Members :
    []<>(Server(n).state # "Unrevoked" \/ spent.rebalances = MaxRebalances)

(* What must be reached: another member fetches what one had that was late. *)
NoLateProbe ==
  \A n \in Members :
    ~ /\ spent.rebalances > 0 /\ Server(n).state = "None"
      /\ \E m \in Members \ {n} : clients[m].owned \cap clients[n].owned # {}
=============================================================================
