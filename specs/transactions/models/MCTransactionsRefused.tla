------------------------ MODULE MCTransactionsRefused ------------------------
(***************************************************************************)
(* Markers that their partitions refuse for another reason than an epoch,   *)
(* and only so often: they are sent again until they are taken (X22).       *)
(***************************************************************************)
EXTENDS MCTransactionsLiveness

CONSTANT MaxRefused

VARIABLE refused

refusedVars == <<mcVars, refused>>

Refuses ==
  /\ refused < MaxRefused /\ refused' = refused + 1
  /\ \E m \in network : Free(RefuseMarker(m))
  /\ HistoryNext

RefusedNext ==
  \/ (MCNext \/ (Free(MarkersAgain) /\ HistoryNext)) /\ UNCHANGED refused
  \/ Refuses

RefusedInit == MCInit /\ refused = 0
RefusedSpec == RefusedInit /\ [][RefusedNext]_refusedVars /\ Fairness
=============================================================================
