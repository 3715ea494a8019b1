----------------------- MODULE GroupCommitsProperties ------------------------
(***************************************************************************)
(* What is promised of the offsets that members of a group commit, as named *)
(* properties, beside those of GroupProperties.  Law of this file: no       *)
(* decision of GroupRules or GroupCommits is used.                          *)
(***************************************************************************)
EXTENDS GroupCommits

commitVars == <<vars, positions, commit>>

CommitsTypeInv ==
  /\ \A n \in Members : positions[n] # NoPosition => Watched \in clients[n].owned
  /\ commit.state = "Appended" => coordinator.log.leader # <<>>
  /\ \A group \in Prefixes(coordinator) :
       (group.since # 0) = (\E n \in Members : Watched \in Has(group.members[n]))

(* A commit is accepted only of who has the partition.                      *)
IsCommitted == ~IsFailOver /\ Now(coordinator').offset # Now(coordinator).offset
CommitByOwnerStep ==
  IsCommitted => Watched \in Has(Now(coordinator).members[commit.member])
CommitByOwner == [][CommitByOwnerStep]_commitVars

(* What is committed goes back only for who has had the partition ever      *)
(* since it asked.  (A member that was refused by a coordinator whose log   *)
(* is lost then begins anew in the same epoch: its commits may overtake     *)
(* each other.)                                                             *)
HandoverNoRegressStep ==
  ~IsFailOver /\ Now(coordinator').offset < Now(coordinator).offset
    => /\ Watched \in Has(Now(coordinator).members[commit.member])
       /\ Now(coordinator).since <= commit.epoch
HandoverNoRegress == [][HandoverNoRegressStep]_commitVars

(* What was answered is committed.                                          *)
CommitDurableStep ==
  commit.state # "None" /\ commit' = NoCommit /\ Now(coordinator') # Now(coordinator)
    => coordinator'.log.committed.offset = commit.offset
CommitDurable == [][CommitDurableStep]_commitVars

(* Who may fetch a partition begins where it is committed.                  *)
StartAtCommittedStep ==
  \A n \in Members :
    positions[n] = NoPosition /\ positions'[n] # NoPosition
      => positions'[n] = coordinator.log.committed.offset
StartAtCommitted == [][StartAtCommittedStep]_commitVars
=============================================================================
