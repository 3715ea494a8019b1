--------------------------- MODULE MCSharesLiveness ---------------------------
(***************************************************************************)
(* What must happen in the end: a consumer polls, locks run out, and the    *)
(* persister and the share coordinator work.  Nobody has to acknowledge.    *)
(* Unfair names what is left out, for models in which the property fails.   *)
(***************************************************************************)
EXTENDS MCShares

CONSTANT Unfair

Wanted(name, Action) == name \notin Unfair /\ Action /\ Ordered

LiveSpec ==
  /\ MCSpec
  /\ \A n \in Members : WF_mcVars(Wanted("FetchRecords", Free(FetchRecords(n))))
  /\ \A o \in Offsets : WF_mcVars(Wanted("LockTimeout", Free(LockTimeout(o, Forgets(o)))))
  /\ WF_mcVars(Wanted("Arrive", \E m \in network : MayArrive(m) /\ Free(Arrive(m))))
  /\ WF_mcVars(Wanted("Hear", \E m \in network : Free(Hear(m))))
  /\ WF_mcVars(Wanted("StateCommit", Free(StateCommit)))

(* Every record is acknowledged, or delivered as often as the limit allows. *)
AllFinish ==
  <>[](/\ leader.phase = "Active"
       /\ \A o \in Offsets : o < leader.start \/ leader.cells[o].state \in Terminal)
=============================================================================
