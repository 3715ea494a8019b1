-------------------------- MODULE MCGroupReplayAway --------------------------
(***************************************************************************)
(* As MCGroupReplay, with static members that leave for a while (G19) and   *)
(* are back.                                                                *)
(***************************************************************************)
EXTENDS MCGroupReplay

AwayNext ==
  \/ MCNext
  \/ \E input \in Inputs_RestateMember(0, loader) :
       Paid("writes", MaxWrites, Taken(Step_HandleRestateMember(0, loader, input)))

AwaySpec == MCInit /\ [][AwayNext]_mcVars

LetsGoAnyway(epoch, shared) == TRUE
=============================================================================
