---------------------------- MODULE MCGroupProbes ----------------------------
(***************************************************************************)
(* What the models of groups must reach: each of these must be violated, or *)
(* else the bounds were bought with a constraint.                           *)
(***************************************************************************)
EXTENDS MCGroups

Server(n) == Now(coordinator).members[n]
Answers == {m \in network : IsAnswer(m)}

(* One had all, now each has its share.                                     *)
NoHandoverProbe ==
  ~ \A n \in Members : clients[n].state = "Stable" /\ Cardinality(clients[n].owned) = 1

(* A member waits for what another one has not given up yet.                *)
NoUnreleasedProbe ==
  \A n \in Members : Server(n).state = "Unreleased" => Server(n).assigned = {}

(* A newer assignment comes while an older one is worked on.                *)
NoOutdatedProbe == \A n \in Members : ~clients[n].outdated

(* An assignment changes, and changes back, before it was worked on.        *)
NoSameAgainProbe ==
  \A n \in Members :
    clients[n].state = "Reconciling" /\ ~clients[n].busy /\ clients[n].target # {}
      => clients[n].target # clients[n].current

(* A member that has not received the newer epoch is accepted with the      *)
(* older one.                                                               *)
NoPreviousEpochProbe ==
  [][\A n \in Members :
       clients'[n].awaiting /\ ~clients[n].awaiting /\ clients[n].epoch > JoinEpoch
         /\ clients[n].epoch < Server(n).epoch
         => \A a \in network' \ network : a.destination = n => a.error # "NONE"]_mcVars

(* A member is fenced, and one is unknown.                                  *)
NoFencedProbe == \A a \in Answers : a.error # "FENCED_MEMBER_EPOCH"
NoUnknownProbe == \A a \in Answers : a.error # "UNKNOWN_MEMBER_ID"

(* A member that the group still knows joins again.                         *)
NoRejoinProbe ==
  \A n \in Members : clients[n].state = "Joining" => Server(n).assigned = {} \/ clients[n].awaiting

(* A member has to give up a topic that it does not subscribe to any more.  *)
NoUnsubscribedProbe == \A n \in Members : Server(n).pending \subseteq Server(n).subscribed

(* A static member has what another one left for it, and is back itself.    *)
NoReplacementProbe ==
  [][\A m, n \in UNION Static :
       m # n => ~(Server(m).epoch = ReleasedEpoch /\ Server(n)'.assigned = Server(m).assigned
                    /\ Server(n)'.assigned # {})]_mcVars
NoReturnProbe ==
  [][\A n \in UNION Static :
       Server(n).epoch = ReleasedEpoch => Server(n)'.epoch <= JoinEpoch]_mcVars

(* A replaced member gets an error, and so does a member that comes too     *)
(* early.                                                                   *)
NoFencedInstanceProbe == \A a \in Answers : a.error # "FENCED_INSTANCE_ID"
NoUnreleasedInstanceProbe == \A a \in Answers : a.error # "UNRELEASED_INSTANCE_ID"

(* A member has a partition that did not exist when it joined, and one that *)
(* did.                                                                     *)
NoGrowthProbe ==
  \A n \in Members : clients[n].owned \cap Growing # {} => clients[n].owned \subseteq Growing

(* Another coordinator lacks records of the last one, has uncommitted       *)
(* records, and drops the last one's responses.                             *)
Moved == coordinator'.leaderEpoch > coordinator.leaderEpoch
NoLostTailProbe ==
  [][Moved => Len(coordinator'.log.leader) >= Len(coordinator.log.leader)]_mcVars
NoLoadedTailProbe == [][Moved => coordinator'.log.leader = <<>>]_mcVars
NoLostAnswerProbe == [][Moved => coordinator.waiting = {}]_mcVars
=============================================================================
