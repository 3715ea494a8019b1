-------------------------- MODULE GroupMigration ---------------------------
(***************************************************************************)
(* A group that is migrated to the consumer protocol and back (G45 to G48): *)
(* its coordinator, and members of both protocols.  The row:                *)
(*                                                                          *)
(*   type          "Classic" or "Consumer"                                  *)
(*   policy        "Bidirectional", or "Upgrade": it does not go back       *)
(*   epoch         the group epoch; in a classic group the generation       *)
(*   targetEpoch   of the targets                                           *)
(*   members       members[n]: what is recorded of member n                 *)
(*   rebalancing   whether the members of a classic group are to join again *)
(*   joined        those that have                                          *)
(*   clients       clients[n]: consumer n; one that has "Joined" waits for  *)
(*                 all to have joined                                       *)
(*   told          the members that know, since the group changed           *)
(*                 last, that there is nothing new                          *)
(*                                                                          *)
(* rebalancing, joined and `left` of a classic group are in memory only: a  *)
(* classic group is recorded when all have joined. A member that has joined *)
(* and is killed stays in joined, because its coordinator does not know.    *)
(*                                                                          *)
(* A request, its response and the consumer's reaction are one step, and a  *)
(* record is committed in the step that appends it. All members subscribe   *)
(* to all partitions. Classic members give up everything before they join   *)
(* (eager), or keep and report what they have (cooperative). In the second  *)
(* case nobody else receives a partition until its owner has learned that   *)
(* it must give it up, has done so and has joined again. When all have      *)
(* joined, the leader's assignment is recorded in that step, with what each *)
(* member had.                                                              *)
(***************************************************************************)
EXTENDS GroupRules

NotRecorded ==
  [protocol |-> "None", epoch |-> 0, target |-> {}, assigned |-> {}, pending |-> {},
   owned |-> {}, left |-> FALSE]
NoConsumer ==
  [protocol |-> "None", cooperative |-> FALSE, state |-> "Closed", epoch |-> 0, owned |-> {}]
InitialMigration ==
  [type |-> "Classic", policy |-> "Bidirectional", epoch |-> 0, targetEpoch |-> 0,
   members |-> [n \in Members |-> NotRecorded], rebalancing |-> FALSE, joined |-> {},
   clients |-> [n \in Members |-> NoConsumer], told |-> {}]

(* The group changes, or a consumer follows its last response.              *)
Migrating(row) == {[row |-> [row EXCEPT !.told = {}], sent |-> {}, ignored |-> ""]}
(* A member receives the response that nothing is new.                      *)
Telling(row, n) == {[row |-> [row EXCEPT !.told = @ \cup {n}], sent |-> {}, ignored |-> ""]}

InGroup(row) == {n \in Members : row.members[n].protocol # "None" /\ ~row.members[n].left}
OfProtocol(row, protocol) == {n \in InGroup(row) : row.members[n].protocol = protocol}

(* These of the clients wait for others to join no more.                    *)
NoMoreJoined(clients, some) ==
  [n \in Members |->
    IF n \in some /\ clients[n].state = "Joined" THEN [clients[n] EXCEPT !.state = "Joining"]
    ELSE clients[n]]

(* Any that gives nobody two partitions more than another.                  *)
BalancedOwners(some) ==
  LET share(owner, n) == Cardinality({p \in Partitions : owner[p] = n})
  IN {owner \in [Partitions -> some] :
        \A m, n \in some : share(owner, m) <= share(owner, n) + 1}
ShareOf(owner, n) == {p \in Partitions : owner[p] = n}

(* Of these, the targets that move the fewest partitions (KIP-429).         *)
StickyOwners(row, some) ==
  LET left(owner) == Cardinality({p \in Partitions : p \in row.clients[owner[p]].owned})
      able == BalancedOwners(some)
  IN {owner \in able : \A other \in able : left(other) <= left(owner)}

(* The partitions that others reported when they joined. A member that has  *)
(* gone fetches nothing.                                                    *)
ClaimedByOthers(row, n) == UNION {row.clients[k].owned : k \in row.joined \ {n}}

-----------------------------------------------------------------------------
(* A group of the consumer protocol (G14 to G17, G21).                      *)

WithTargets(row) ==
  IF row.targetEpoch = row.epoch THEN {row}
  ELSE {[row EXCEPT !.targetEpoch = row.epoch,
                    !.members = [n \in Members |->
                      IF n \in InGroup(row) THEN [@[n] EXCEPT !.target = ShareOf(owner, n)]
                      ELSE @[n]]] :
          owner \in BalancedOwners(InGroup(row))}

HeldByOthers(row, n) == UNION {Holding(row.members[k]) : k \in InGroup(row) \ {n}}

(* owned: the partitions that the member reports.                           *)
Reconciled(row, n, owned) ==
  LET member == row.members[n]
      kept == member.assigned \cap member.target
      revoked == member.assigned \ kept
      free == (member.target \ kept) \ HeldByOthers(row, n)
  IN CASE owned \cap member.pending # {} -> row
       [] owned \cap revoked # {} ->
            [row EXCEPT !.members[n].assigned = kept, !.members[n].pending = revoked]
       [] OTHER ->
            [row EXCEPT !.members[n].epoch = row.targetEpoch, !.members[n].pending = {},
                        !.members[n].assigned = kept \cup free]

(* A member that was about to join must join again. A member may still have *)
(* what it had when it joined (G45).                                        *)
Upgraded(row) ==
  [row EXCEPT
     !.type = "Consumer", !.targetEpoch = row.epoch, !.rebalancing = FALSE, !.joined = {},
     !.clients = NoMoreJoined(@, Members),
     !.members = [n \in Members |->
       IF n \in InGroup(row)
       THEN [@[n] EXCEPT !.epoch = row.epoch, !.target = row.members[n].assigned,
                         !.pending = PendingAfterUpgrade(row.members[n]), !.owned = {}]
       ELSE NotRecorded]]

(* No member of the consumer protocol is left: the others must join again   *)
(* (G47).                                                                   *)
Downgraded(row) ==
  LET generation == DowngradedGeneration(row)
      kept(n) == AssignmentAfterDowngrade(row.members[n])
  IN [row EXCEPT
        !.type = "Classic", !.epoch = generation, !.targetEpoch = generation,
        !.rebalancing = TRUE, !.joined = {},
        !.members = [n \in Members |->
          IF n \in InGroup(row)
          THEN [@[n] EXCEPT !.epoch = generation, !.target = kept(n), !.assigned = kept(n),
                            !.pending = {}]
          ELSE NotRecorded]]

-----------------------------------------------------------------------------
(* Members that go.                                                         *)

(* G21, G41, G47.                                                           *)
WithoutIt(row, n) ==
  LET removed == [row EXCEPT !.members[n] = NotRecorded, !.clients = NoMoreJoined(@, {n})]
      others == InGroup(removed)
  IN CASE others = {} ->
            [removed EXCEPT !.members = [k \in Members |-> NotRecorded],
                            !.epoch = BumpedEpoch(@), !.targetEpoch = BumpedEpoch(row.epoch),
                            !.rebalancing = FALSE, !.joined = {}]
       [] row.type = "Classic" ->
            [removed EXCEPT !.members[n] = [row.members[n] EXCEPT !.left = TRUE],
                            !.rebalancing = TRUE, !.joined = @ \ {n}]
       [] row.members[n].protocol = "Consumer" /\ OfProtocol(removed, "Consumer") = {}
            /\ MigratesBack(row) -> Downgraded(removed)
       [] OTHER -> [removed EXCEPT !.epoch = BumpedEpoch(@)]

(* ACTION HandleCloseConsumer                                               *)
(* WHO    a member                                                          *)
(* WHAT   The application closes its consumer, and the member leaves. The   *)
(*        last member of the consumer protocol may downgrade the group      *)
(*        (G47).                                                            *)
Step_HandleCloseConsumer(n, row, input) ==
  LET closed == [row EXCEPT !.clients[input.member] = NoConsumer]
  IN CASE row.clients[input.member].state = "Closed" -> {}
       [] input.member \in InGroup(row) -> Migrating(WithoutIt(closed, input.member))
       [] OTHER -> Migrating(closed)

(* ACTION HandleKillConsumer                                                *)
(* WHO    a member                                                          *)
(* WHAT   Its process ends without a request.                               *)
Step_HandleKillConsumer(n, row, input) ==
  IF row.clients[input.member].state = "Closed" THEN {}
  ELSE Migrating([row EXCEPT !.clients[input.member] = NoConsumer])

(* ACTION HandleExpireMember                                                *)
(* WHO    the coordinator                                                   *)
(* WHAT   A member's session has expired. The member is removed (G20).      *)
Step_HandleExpireMember(n, row, input) ==
  IF input.member \notin InGroup(row) THEN {} ELSE Migrating(WithoutIt(row, input.member))

(* ACTION HandleLeaveForAWhile                                              *)
(* WHO    a static member of the consumer protocol                          *)
(* WHAT   It leaves with epoch -2. The group keeps its partitions, and it   *)
(*        comes back as the same member (G13, G19).                         *)
Step_HandleLeaveForAWhile(n, row, input) ==
  LET k == input.member
      member == row.members[k]
  IN IF \/ row.clients[k].state # "Stable" \/ k \notin OfProtocol(row, "Consumer")
        \/ row.clients[k].protocol # "Consumer"
     THEN {}
     ELSE Migrating([row EXCEPT
            !.clients[k] = NoConsumer, !.members[k].pending = {},
            !.members[k].epoch = ReleasedEpoch,
            !.members[k].assigned = KeptForAWhile(member)])

-----------------------------------------------------------------------------
(* Members that come.                                                       *)

(* ACTION HandleStartConsumer                                               *)
(* WHO    a consumer                                                        *)
(* WHAT   A process starts with a protocol, and joins.                      *)
Step_HandleStartConsumer(n, row, input) ==
  IF row.clients[input.member].state # "Closed" THEN {}
  ELSE Migrating([row EXCEPT !.clients[input.member] =
                    [NoConsumer EXCEPT !.protocol = input.protocol,
                                       !.cooperative = input.cooperative, !.state = "Joining"]])

(* ACTION HandleRestartAsClassic                                            *)
(* WHO    a static member of the consumer protocol                          *)
(* WHAT   It comes back with the classic protocol and replaces its former   *)
(*        self: at once, if that downgrades the group and the targets are   *)
(*        current (G13, G47).                                               *)
Step_HandleRestartAsClassic(n, row, input) ==
  LET k == input.member
      replaced == [row EXCEPT !.members[k].protocol = "Classic",
                              !.clients[k] = [NoConsumer EXCEPT !.protocol = "Classic"]]
      back == Downgraded(replaced)
  IN CASE row.type # "Consumer" \/ row.members[k].protocol # "Consumer" -> {}
       [] OfProtocol(replaced, "Consumer") # {} \/ ~MigratesBack(row) ->
            Migrating([replaced EXCEPT !.clients[k].state = "Joining"])
       [] row.targetEpoch < row.epoch ->
            Migrating([back EXCEPT !.clients[k].state = "Joining"])
       [] OTHER ->
            Migrating([back EXCEPT !.rebalancing = FALSE, !.clients[k].state = "Syncing",
                                   !.clients[k].epoch = back.epoch])

-----------------------------------------------------------------------------
(* Heartbeats.                                                              *)

(* G25, G42.                                                                *)
Dropped(row, k) ==
  Migrating([row EXCEPT !.clients[k].state = "Joining", !.clients[k].owned = {}])

(* G11 to G18: of the consumer protocol.                                    *)
ConsumerBeats(row, k) ==
  LET client == row.clients[k]
      group == IF row.type = "Classic" THEN Upgraded(row) ELSE row
      isNew == group.members[k].protocol # "Consumer"
      known == IF ~isNew THEN group
               ELSE [group EXCEPT !.epoch = BumpedEpoch(@),
                                  !.members[k].protocol = "Consumer"]
      after(targeted) ==
        LET done == Reconciled(targeted, k, client.owned) IN
        [done EXCEPT !.clients[k].state = "Stable",
                     !.clients[k].epoch = done.members[k].epoch,
                     !.clients[k].owned = done.members[k].assigned]
  IN IF client.state = "Stable" /\ (row.type = "Classic" \/ isNew) THEN Dropped(row, k)
     ELSE UNION {IF after(targeted) = row THEN Telling(row, k) ELSE Migrating(after(targeted)) :
                   targeted \in WithTargets(known)}

(* The generation that the group expects of a classic member.               *)
AwaitedGeneration(row, k) == IF row.type = "Classic" THEN row.epoch ELSE row.members[k].epoch
IsStranger(row, k) ==
  \/ k \notin OfProtocol(row, "Classic")
  \/ row.clients[k].epoch # AwaitedGeneration(row, k)

IsToJoin(row, k) ==
  IF row.type = "Classic" THEN row.rebalancing
  ELSE TellsToJoin(row, row.members[k], HeldByOthers(row, k))

(* G40, G46.                                                                *)
ClassicBeats(row, k) ==
  CASE row.clients[k].state # "Stable" -> {}
    [] IsStranger(row, k) -> Dropped(row, k)
    [] IsToJoin(row, k) -> Migrating([row EXCEPT !.clients[k].state = "Joining"])
    [] OTHER -> Telling(row, k)

(* ACTION HandleConsumerHeartbeat                                           *)
(* WHO    a member and the coordinator                                      *)
(* WHAT   A heartbeat and its response in one step. A member of the consumer *)
(*        protocol may upgrade the group, join, or reconcile (G11 to G18); a *)
(*        classic one may have to join again, or is no member any more (G40, *)
(*        G46).                                                             *)
Step_HandleConsumerHeartbeat(n, row, input) ==
  CASE row.clients[input.member].protocol = "Consumer" -> ConsumerBeats(row, input.member)
    [] row.clients[input.member].protocol = "Classic" -> ClassicBeats(row, input.member)
    [] OTHER -> {}

-----------------------------------------------------------------------------
(* The classic protocol: join, sync.                                        *)

(* ACTION HandleRejoinClassic                                               *)
(* WHO    a classic member                                                  *)
(* WHAT   It joins. An eager member has revoked everything; a cooperative   *)
(*        one keeps what it owns (G38, G43, G44, G46, G48).                 *)
Step_HandleRejoinClassic(n, row, input) ==
  LET k == input.member
      group == IF InGroup(row) = {} THEN [row EXCEPT !.type = "Classic"] ELSE row
      isNew == k \notin OfProtocol(group, "Classic")
      known == [group EXCEPT !.members[k].protocol = "Classic", !.members[k].left = FALSE]
      owned == IF row.clients[k].cooperative /\ ~isNew THEN row.clients[k].owned ELSE {}
      emptied == [known EXCEPT !.clients[k].owned = owned]
      bumped == IF isNew THEN [emptied EXCEPT !.epoch = BumpedEpoch(@)] ELSE emptied
      synced(done) == [done EXCEPT !.clients[k].state = "Syncing",
                                   !.clients[k].epoch = done.members[k].epoch]
  IN CASE row.clients[k].protocol # "Classic" \/ row.clients[k].state # "Joining" -> {}
       [] group.type = "Classic" ->
            Migrating([emptied EXCEPT !.rebalancing = TRUE, !.joined = @ \cup {k},
                                      !.clients[k].state = "Joined"])
       [] OTHER ->
            UNION {Migrating(synced(Reconciled(targeted, k, owned))) :
                     targeted \in WithTargets(bumped)}

(* ACTION HandleCompleteJoin                                                *)
(* WHO    the coordinator                                                   *)
(* WHAT   All members have joined. They are in a new generation with a      *)
(*        sticky assignment (G38, G39).                                     *)
Step_HandleCompleteJoin(n, row, input) ==
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
                     IF @[k].state = "Joined"
                     THEN [@[k] EXCEPT !.state = "Syncing", !.epoch = generation]
                     ELSE @[k]]]) :
            owner \in StickyOwners(row, row.joined)}

(* ACTION HandleSyncClassic                                                 *)
(* WHO    a classic member                                                  *)
(* WHAT   It receives its assignment. A member that must revoke something   *)
(*        joins again, which a waiting group requires (G39, G44, G46).      *)
Step_HandleSyncClassic(n, row, input) ==
  LET k == input.member
      assigned == row.members[k].assigned
      hears == IF row.clients[k].owned \subseteq assigned THEN "Stable" ELSE "Joining"
  IN CASE row.clients[k].state # "Syncing" -> {}
       [] IsStranger(row, k) -> Dropped(row, k)
       [] row.members[k].pending = {} /\ IsToJoin(row, k) ->
            Migrating([row EXCEPT !.clients[k].state = "Joining"])
       [] OTHER -> Migrating([row EXCEPT !.clients[k].state = hears, !.clients[k].owned = assigned])

-----------------------------------------------------------------------------
(* ACTION HandleMoveMigrated                                                *)
(* WHO    the next coordinator                                              *)
(* WHAT   It knows what was recorded, and has a migration policy of its own *)
(*        (G49).                                                            *)
Step_HandleMoveMigrated(n, row, input) ==
  Migrating([row EXCEPT
    !.policy = input.policy, !.rebalancing = FALSE, !.joined = {},
    !.clients = NoMoreJoined(@, Members),
    !.members = [k \in Members |->
      IF row.type = "Classic" /\ @[k].epoch = 0 THEN NotRecorded
      ELSE [@[k] EXCEPT !.left = FALSE]]])

OfMember(type) == {[type |-> type, member |-> k] : k \in Members}
Inputs_StartConsumer(n, row) ==
  {[type |-> "StartConsumer", member |-> k, protocol |-> p, cooperative |-> c] :
     k \in Members, p \in {"Classic", "Consumer"}, c \in BOOLEAN}
Inputs_MoveMigrated(n, row) ==
  {[type |-> "MoveMigrated", policy |-> p] : p \in {"Bidirectional", "Upgrade"}}
Inputs_CloseConsumer(n, row) == OfMember("CloseConsumer")
Inputs_LeaveForAWhile(n, row) == OfMember("LeaveForAWhile")
Inputs_KillConsumer(n, row) == OfMember("KillConsumer")
Inputs_ExpireMember(n, row) == OfMember("ExpireMember")
Inputs_RestartAsClassic(n, row) == OfMember("RestartAsClassic")
Inputs_ConsumerHeartbeat(n, row) == OfMember("ConsumerHeartbeat")
Inputs_RejoinClassic(n, row) == OfMember("RejoinClassic")
Inputs_SyncClassic(n, row) == OfMember("SyncClassic")
=============================================================================
