----------------------- MODULE MCGroupMigrationKilled ------------------------
(***************************************************************************)
(* The kit's own defect of before: CompleteJoin told the new generation to  *)
(* all whom the coordinator has for joined, also to who was killed since,   *)
(* and is nobody any more.                                                  *)
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
