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

(* TLC compares messages field by field, in the order in which it met their *)
(* names. It must meet `type` before `cells`: AllFinished is in MCShares.   *)
AllFinish == <>[]AllFinished
=============================================================================
