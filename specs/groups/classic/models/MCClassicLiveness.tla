-------------------------- MODULE MCClassicLiveness --------------------------
(***************************************************************************)
(* Liveness. Members, who send requests and receive responses, and the log  *)
(* are fair. Unfair names the omitted fairness conditions, for twins in     *)
(* which the property fails.                                                *)
(***************************************************************************)
EXTENDS MCClassic

CONSTANT Unfair

(* An action that never can be taken is fair.                               *)
Wanted(name, Action) == name \notin Unfair /\ Action

LiveSpec ==
  /\ MCSpec
  /\ WF_mcVars(Wanted("Commit", Free(Commit)))
  /\ \A n \in Members :
       /\ WF_mcVars(~HasLeft(n) /\ Free(Subscribe(n)))
       /\ WF_mcVars(Wanted("SendJoinGroup", Free(SendJoinGroup(n))))
       /\ WF_mcVars(Wanted("SendHeartbeat", Free(SendHeartbeat(n))))
       /\ WF_mcVars(Wanted("HearAnswer", \E m \in network :
                             m.destination = n /\ Free(HearAnswer(m))))
       /\ WF_mcVars(Wanted("RequestTimeout", IsAnswerLost(n) /\ Free(RequestTimeout(n))))

(* Eventually all remaining members are in one generation, and each         *)
(* partition is fetched by one of them.                                     *)
Settle ==
  LET staying == {n \in Members : ~HasLeft(n)}
  IN /\ \A n \in staying :
          /\ clients[n].state = "Stable"
          /\ clients[n].generation = Recorded.generation
     /\ staying # {} => UNION {clients[n].owned : n \in staying} = Partitions
ClassicConverges == <>[]Settle
=============================================================================
