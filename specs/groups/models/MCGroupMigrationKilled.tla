----------------------- MODULE MCGroupMigrationKilled ------------------------
(***************************************************************************)
(* An earlier defect of the kit: CompleteJoin gave the new generation to    *)
(* all members that the coordinator counts as joined, even to a member that *)
(* was killed since.                                                        *)
(***************************************************************************)
EXTENDS GroupMigration

WhoeverHadJoined(n, row, input) ==
  LET generation == BumpedEpoch(row.epoch)
      given(owner, k) == ShareOf(owner, k) \ ClaimedByOthers(row, k)
      of(owner, k) == [NotRecorded EXCEPT !.protocol = "Classic", !.epoch = generation,
                                          !.target = given(owner, k),
                                          !.assigned = given(owner, k),
                                          !.owned = row.clients[k].owned]
  IN IF ~row.rebalancing \/ row.joined = {} \/ row.joined # InGroup(row) THEN {}
     ELSE UNION {Migrating([row EXCEPT
                   !.epoch = generation, !.targetEpoch = generation, !.rebalancing = FALSE,
                   !.joined = {},
                   !.members = [k \in Members |->
                     IF k \in row.joined THEN of(owner, k) ELSE NotRecorded],
                   !.clients = [k \in Members |->
                     IF k \in row.joined
                     THEN [@[k] EXCEPT !.state = "Syncing", !.epoch = generation]
                     ELSE @[k]]]) :
            owner \in StickyOwners(row, row.joined)}
=============================================================================
