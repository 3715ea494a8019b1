----------------------- MODULE GroupCommitsProperties ------------------------
(***************************************************************************)
(* What is promised of the offsets that members of a group commit, as named *)
(* properties, beside those of GroupProperties.  Law of this file: no       *)
(* decision of GroupRules or CommitRules is used.                           *)
(***************************************************************************)
EXTENDS GroupCommits

CommitsTypeInv ==
  /\ \A n \in Members : clients[n].position # NoPosition => Followed \in clients[n].owned
  /\ \A group \in Prefixes(coordinator) :
       (group.since # 0) = (\E n \in Members : Followed \in Has(group.members[n]))

IsCommitted == ~IsFailOver /\ Now(coordinator').offset # Now(coordinator).offset
Committing(n) == {r \in clients[n].requested : r.offset = Now(coordinator').offset}

(* Who commits is in the epoch in which it asked.  Kafka then looks at no   *)
(* partition, though a member that owes one keeps its epoch when it has     *)
(* given up others (docs/groups.md).                                        *)
IsInEpoch(n) == \E r \in Committing(n) : r.epoch = Now(coordinator).members[n].epoch

(* A commit is accepted only of who has the partition, or is in the epoch   *)
(* in which it asked.                                                       *)
CommitByOwnerStep ==
  IsCommitted =>
    \E n \in Members :
      \/ IsInEpoch(n)
      \/ Committing(n) # {} /\ Followed \in Has(Now(coordinator).members[n])
CommitByOwner == [][CommitByOwnerStep]_vars

(* What is committed goes back only for who has had the partition ever      *)
(* since it asked, or is in that epoch still.  (A member that was refused   *)
(* by a coordinator whose log is lost then begins anew in the same epoch:   *)
(* its commits may overtake each other.)                                    *)
HandoverNoRegressStep ==
  ~IsFailOver /\ Now(coordinator').offset < Now(coordinator).offset
    => \E n \in Members :
         \/ IsInEpoch(n)
         \/ \E r \in Committing(n) :
              /\ Followed \in Has(Now(coordinator).members[n])
              /\ Now(coordinator).since <= r.epoch
HandoverNoRegress == [][HandoverNoRegressStep]_vars

(* What was answered is committed.                                          *)
CommitDurableStep ==
  \A n \in Members : \A r \in clients[n].requested :
    clients'[n].requested = {} /\ Now(coordinator') # Now(coordinator)
      => coordinator'.log.committed.offset = r.offset
CommitDurable == [][CommitDurableStep]_vars

(* Who may fetch a partition begins where it is committed.                  *)
StartAtCommittedStep ==
  \A n \in Members :
    clients[n].position = NoPosition /\ clients'[n].position # NoPosition
      => clients'[n].position = coordinator.log.committed.offset
StartAtCommitted == [][StartAtCommittedStep]_vars
=============================================================================
