-------------------------- MODULE MCGroupsDeleted ---------------------------
(***************************************************************************)
(* A consumer group within bounds, where topics are deleted as well: what   *)
(* of Growing has come may go.                                              *)
(***************************************************************************)
EXTENDS MCGroups

MCNextDeleted == MCNext \/ \E p \in Growing : Free(DeleteTopic(p))
MCSpecDeleted == MCInit /\ [][MCNextDeleted]_mcVars

(* What must be reached: a member has to give up what is of a topic that is *)
(* gone, and a static one that was away comes back to it.                   *)
Server(n) == Now(coordinator).members[n]
NoDeletionProbe ==
  \A n \in Members : Server(n).pending \cap Now(coordinator).gone = {}
NoKeptIsGoneProbe ==
  [][\A n \in UNION Static :
       Server(n).epoch = ReleasedEpoch /\ Server(n).assigned \cap Now(coordinator).gone # {}
         => Server(n)'.epoch = ReleasedEpoch \/ Server(n)'.state = "None"]_mcVars
=============================================================================
