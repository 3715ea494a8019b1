----------------------- MODULE GroupCommitsProperties ------------------------
(***************************************************************************)
(* Named properties of the offsets that members of a group commit, in       *)
(* addition to those of GroupProperties. Law of this file: no decision of   *)
(* GroupRules or CommitRules is used.                                       *)
(***************************************************************************)
EXTENDS GroupCommits

(* A member has a position only for a partition that it owns, and a         *)
(* partition with an owner has the epoch since which it is owned. Misses: a *)
(* wrong epoch.                                                             *)
CommitsTypeInv ==
  /\ \A n \in Members : clients[n].position # NoPosition => Followed \in clients[n].owned
  /\ \A group \in Prefixes(coordinator) :
       (group.since # 0) = (\E n \in Members : Followed \in Has(group.members[n]))

IsCommitted == ~IsFailOver /\ Now(coordinator').offset # Now(coordinator).offset
Committing(n) == {r \in clients[n].requested : r.offset = Now(coordinator').offset}

(* Who commits is in the epoch in which it asked.  Kafka then looks at no   *)
(* partition, though a member that owes one keeps its epoch when it has     *)
(* given up others (docs/reference/groups.md).                              *)
IsInEpoch(n) == \E r \in Committing(n) : r.epoch = Now(coordinator).members[n].epoch

(* A commit is accepted only from the member that has the partition, or is  *)
(* in the epoch in which it sent the commit. Misses: which of two members   *)
(* with the same offset sent it.                                            *)
CommitByOwnerStep ==
  IsCommitted =>
    \E n \in Members :
      \/ IsInEpoch(n)
      \/ Committing(n) # {} /\ Followed \in Has(Now(coordinator).members[n])
CommitByOwner == [][CommitByOwnerStep]_vars

(* A committed offset decreases only by a commit of a member that has had   *)
(* the partition ever since it sent the commit, or is still in that epoch.  *)
(* After a refusal by a coordinator whose log is lost, a member may begin   *)
(* again in the same epoch, so its own commits may overtake each other.     *)
(* Misses: a member that has the partition and goes back.                   *)
HandoverNoRegressStep ==
  ~IsFailOver /\ Now(coordinator').offset < Now(coordinator).offset
    => \E n \in Members :
         \/ IsInEpoch(n)
         \/ \E r \in Committing(n) :
              /\ Followed \in Has(Now(coordinator).members[n])
              /\ Now(coordinator).since <= r.epoch
HandoverNoRegress == [][HandoverNoRegressStep]_vars

(* A commit is acknowledged only after it is committed. Misses: runs, in    *)
(* which sending and receiving the response are two steps.                  *)
CommitDurableStep ==
  \A n \in Members : \A r \in clients[n].requested :
    clients'[n].requested = {} /\ Now(coordinator') # Now(coordinator)
      => coordinator'.log.committed.offset = r.offset
CommitDurable == [][CommitDurableStep]_vars

(* A member that begins to fetch a partition begins at the committed        *)
(* offset. Misses: a wrong commit.                                          *)
StartAtCommittedStep ==
  \A n \in Members :
    clients[n].position = NoPosition /\ clients'[n].position # NoPosition
      => clients'[n].position = coordinator.log.committed.offset
StartAtCommitted == [][StartAtCommittedStep]_vars
=============================================================================
