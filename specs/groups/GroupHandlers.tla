--------------------------- MODULE GroupHandlers ----------------------------
(***************************************************************************)
(* What the group coordinator does with an input (G2 to G21), for one       *)
(* group.  Its row:                                                         *)
(*                                                                          *)
(*   leaderEpoch   of its partition                                         *)
(*   log           the log of its partition (GroupLog)                      *)
(*   waiting       answers that wait until all is committed                 *)
(*                                                                          *)
(* A group:                                                                 *)
(*                                                                          *)
(*   epoch         the group epoch                                          *)
(*   targetEpoch   the epoch of the targets, or assignment epoch            *)
(*   members       members[n]: the record of member n                       *)
(*   held          the partitions that have an owner: memory, made of the   *)
(*                 members' records                                         *)
(*   grown         those of Growing that its metadata has, gone: those that *)
(*                 it had                                                   *)
(*                                                                          *)
(* A member:                                                                *)
(*                                                                          *)
(*   state           "None" (the group has no such member), "Stable",       *)
(*                   "Unrevoked", "Unreleased"                              *)
(*   epoch           the member epoch, previousEpoch: the one before; both  *)
(*                   are ReleasedEpoch of a static member that has left for *)
(*                   a while                                                *)
(*   subscribed      the topics that it asked for                           *)
(*   target          what it is to have                                     *)
(*   assigned        what it was given                                      *)
(*   pending         what it has to revoke first                            *)
(*                                                                          *)
(* Messages: GroupHeartbeat with the fields `given` (AllFields, or those    *)
(* that have changed), GroupHeartbeatResponse.  What comes while a log is   *)
(* loaded is refused, which is as if it had been lost.                      *)
(***************************************************************************)
EXTENDS GroupRules, GroupLog

CONSTANT MaxCoordinators   \* how many leader epochs the log may have

Coordinator == 0   \* its address

NoMember ==
  [state |-> "None", epoch |-> 0, previousEpoch |-> Unknown, subscribed |-> {}, target |-> {},
   assigned |-> {}, pending |-> {}]
InitialGroup ==
  [epoch |-> 1, targetEpoch |-> 1, members |-> [n \in Members |-> NoMember], held |-> {},
   grown |-> {}, gone |-> {}]
InitialCoordinator ==
  [leaderEpoch |-> 1, log |-> InitialLog(InitialGroup), waiting |-> {}]

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignored(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

-----------------------------------------------------------------------------
(* Changes of a group.                                                      *)

WithMember(group, n, after) ==
  [group EXCEPT !.held = HeldAfter(@, group.members[n], after), !.members[n] = after]

(* G21.                                                                     *)
WithoutMember(group, n) ==
  [WithMember(group, n, NoMember) EXCEPT !.epoch = BumpedEpoch(@)]

(* The kept partitions go to the joining member, under its id (G13).        *)
WithReplaced(group, k, n) ==
  LET kept == [group.members[k] EXCEPT !.epoch = JoinEpoch]
  IN [group EXCEPT !.members = [@ EXCEPT ![k] = NoMember, ![n] = kept]]

(* G15.                                                                     *)
WithTarget(group, owner) ==
  [group EXCEPT
     !.targetEpoch = group.epoch,
     !.members = [n \in Members |->
                    [@[n] EXCEPT !.target = {p \in DOMAIN owner : owner[p] = n}]]]

Targeted(group) ==
  LET wanted == UNION {group.members[n].subscribed : n \in Members}
                  \ (Growing \ group.grown)
      present == {n \in Members : group.members[n].state # "None"}
  IN IF ~NeedsTarget(group) THEN {group}
     ELSE {WithTarget(group, owner) :
             owner \in {owner \in [wanted -> present] : IsTarget(group, owner)}}

-----------------------------------------------------------------------------
(* G16: a member on its way to its target.                                  *)

Revoking(member, assigned, pending) ==
  [member EXCEPT !.state = "Unrevoked", !.previousEpoch = member.epoch, !.assigned = assigned,
                 !.pending = pending]

Towards(group, member, m) ==
  LET target == member.target \cap member.subscribed
      kept == member.assigned \cap target
      revoked == member.assigned \ kept
      wanted == target \ kept
      free == {p \in wanted : IsFree(group, member, p)}
  IN IF revoked # {} /\ ~HasRevoked(revoked, m) THEN Revoking(member, kept, revoked)
     ELSE [member EXCEPT !.state = IF free = wanted THEN "Stable" ELSE "Unreleased",
                         !.epoch = group.targetEpoch, !.previousEpoch = member.epoch,
                         !.assigned = kept \cup free, !.pending = {}]

(* Topics that it does not subscribe to any more go at once.                *)
WithinSubscription(member, m) ==
  LET assigned == member.assigned \cap member.subscribed
      pending == member.pending \cup (member.assigned \ assigned)
  IN IF assigned = member.assigned THEN member
     ELSE IF ~HasRevoked(pending, m) THEN Revoking(member, assigned, pending)
     ELSE [member EXCEPT !.previousEpoch = member.epoch, !.assigned = assigned]

NextMember(group, member, m, changed, retargeted) ==
  CASE member.state = "Stable" /\ member.epoch = group.targetEpoch ->
         IF changed THEN WithinSubscription(member, m) ELSE member
    [] member.state = "Unrevoked" /\ RevocationBlocks(member, m, retargeted) ->
         IF changed THEN WithinSubscription(member, m) ELSE member
    [] OTHER -> Towards(group, member, m)

-----------------------------------------------------------------------------
(* Answers.                                                                 *)

Answer(n, m, error, epoch, tells, assigned) ==
  [type |-> "GroupHeartbeatResponse", source |-> n, destination |-> m.source,
   correlation |-> m.correlation, error |-> error, epoch |-> epoch, tells |-> tells,
   assigned |-> IF tells THEN assigned ELSE {}]

(* An error is returned at once, even if it depends on uncommitted records. *)
Refused(n, row, m, error) ==
  Outcome(row, {Answer(n, m, error, 0, FALSE, {})})

(* The operation has made `group` of what was newest.                       *)
Done(row, group, answer) ==
  CASE group # Newest(row.log) ->
         [row |-> [row EXCEPT !.log = Appended(@, group), !.waiting = @ \cup {answer}],
          sent |-> {}, ignored |-> ""]
    [] WaitsForWritten(row) ->
         [row |-> [row EXCEPT !.waiting = @ \cup {answer}], sent |-> {}, ignored |-> ""]
    [] OTHER -> [row |-> row, sent |-> {answer}, ignored |-> ""]

-----------------------------------------------------------------------------
(* G11 to G18: members join, and live.                                      *)

Heartbeat(n, row, m, group) ==
  LET before == group.members[m.source]
      known == IF before.state = "None" THEN [NoMember EXCEPT !.state = "Stable"] ELSE before
      updated == IF "Subscription" \in m.given THEN [known EXCEPT !.subscribed = m.subscribed]
                 ELSE known
      changed == ChangesSubscription(known, updated)
      bumped == [group EXCEPT !.members[m.source] = updated,
                              !.epoch = IF changed THEN BumpedEpoch(@) ELSE @]
      finished(targeted) ==
        LET after == NextMember(targeted, targeted.members[m.source], m, changed,
                                targeted.targetEpoch # group.targetEpoch)
        IN Done(row, WithMember(targeted, m.source, after),
                Answer(n, m, "NONE", after.epoch, TellsAssignment(m, before, after),
                       after.assigned))
  IN {finished(targeted) : targeted \in Targeted(bumped)}

(* G19.                                                                     *)
Released(member) ==
  [member EXCEPT !.state = "Stable", !.epoch = ReleasedEpoch, !.previousEpoch = ReleasedEpoch,
                 !.assigned = KeptForAWhile(member), !.pending = {}]
Leave(n, row, m) ==
  LET group == Newest(row.log)
      left == IF m.epoch = LeaveEpoch THEN WithoutMember(group, m.source)
              ELSE WithMember(group, m.source, Released(group.members[m.source]))
  IN {Done(row, left, Answer(n, m, "NONE", m.epoch, FALSE, {}))}

(* The holder of the instance id: the member itself, another one, or nobody *)
(* (G13).                                                                   *)
HolderOf(group, n) ==
  LET others == {k \in Members \ {n} : SharesInstance(n, k) /\ group.members[k].state # "None"}
  IN IF others # {} THEN CHOOSE k \in others : TRUE ELSE n

(* ACTION HandleGroupHeartbeat                                              *)
(* WHO    the coordinator                                                   *)
(* WHAT   It accepts a join, a leave, an acknowledgement or a plain         *)
(*        heartbeat, or refuses it by instance id or epoch (G11 to G19).    *)
Step_HandleGroupHeartbeat(n, row, m) ==
  LET group == Newest(row.log)
      k == HolderOf(group, m.source)
      holder == group.members[k]
      isKnown == holder.state # "None"
      leaves == m.epoch \in {LeaveEpoch, ReleasedEpoch}
      error == CASE ~isKnown -> IF m.epoch = JoinEpoch THEN "NONE" ELSE "UNKNOWN_MEMBER_ID"
                 [] k # m.source -> InstanceError(holder, m)
                 [] leaves -> "NONE"
                 [] OTHER -> MemberEpochError(holder, m)
      isBack == isKnown /\ (k # m.source \/ holder.epoch = ReleasedEpoch)
  IN CASE error # "NONE" -> Refused(n, row, m, error)
       [] leaves -> Leave(n, row, m)
       [] OTHER -> Heartbeat(n, row, m, IF isBack THEN WithReplaced(group, k, m.source) ELSE group)

-----------------------------------------------------------------------------
(* G9, G20: time.  Nobody is answered.                                      *)

Removed(row, n) == [row EXCEPT !.log = Appended(@, WithoutMember(Newest(@), n))]

(* ACTION HandleGroupSessionTimeout                                         *)
(* WHO    the coordinator                                                   *)
(* WHAT   A member's session has expired. The member is removed, without a  *)
(*        response (G9).                                                    *)
Step_HandleGroupSessionTimeout(n, row, input) ==
  IF Newest(row.log).members[input.member].state = "None" THEN Disabled
  ELSE Outcome(Removed(row, input.member), {})

(* ACTION HandleRebalanceTimeout                                            *)
(* WHO    the coordinator                                                   *)
(* WHAT   A member had too long to revoke something. It is removed, without *)
(*        a response (G20).                                                 *)
Step_HandleRebalanceTimeout(n, row, input) ==
  IF ~IsRevocationLate(Newest(row.log).members[input.member]) THEN Disabled
  ELSE Outcome(Removed(row, input.member), {})

-----------------------------------------------------------------------------
(* G14: topics that grow or are deleted, and those that a regex comes to    *)
(* match.  Kafka marks the group, and the next heartbeat does this.  What   *)
(* members have of a topic that is gone they give up as anything else.      *)

OtherMetadata(row, p, after) ==
  LET group == Newest(row.log)
      epoch == IF ChangesMetadata(group, p) THEN BumpedEpoch(group.epoch) ELSE group.epoch
  IN Outcome([row EXCEPT !.log = Appended(@, [after EXCEPT !.epoch = epoch])], {})

(* ACTION HandleGrowTopic                                                   *)
(* WHO    the coordinator                                                   *)
(* WHAT   A subscribed topic has a new partition, so the group epoch grows  *)
(*        (G14). Kafka marks the group, and the next heartbeat bumps the    *)
(*        epoch.                                                            *)
Step_HandleGrowTopic(n, row, input) ==
  LET group == Newest(row.log)
      p == input.partition
  IN IF p \in group.grown \cup group.gone THEN Disabled
     ELSE OtherMetadata(row, p, [group EXCEPT !.grown = @ \cup {p}])

(* ACTION HandleDeleteTopic                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   A partition is deleted with its topic, so the group epoch grows   *)
(*        (G14). Members revoke it like others.                             *)
Step_HandleDeleteTopic(n, row, input) ==
  LET group == Newest(row.log)
      p == input.partition
  IN IF p \notin group.grown THEN Disabled
     ELSE OtherMetadata(row, p, [group EXCEPT !.grown = @ \ {p}, !.gone = @ \cup {p}])

-----------------------------------------------------------------------------
(* The log: G3, G6, G7.                                                     *)

(* ACTION HandleGroupCommit                                                 *)
(* WHO    the coordinator                                                   *)
(* WHAT   The high watermark reaches the end of the log, and waiting        *)
(*        responses are sent (G3).                                          *)
Step_HandleGroupCommit(n, row, input) ==
  IF row.log.leader = <<>> THEN Disabled
  ELSE Outcome([row EXCEPT !.log = Committed(@), !.waiting = {}], row.waiting)

(* ACTION HandleMoveCoordinator                                             *)
(* WHO    the next coordinator                                              *)
(* WHAT   Another broker leads the partition, with any log that it may have, *)
(*        and has loaded it (G6, G7).                                       *)
Step_HandleMoveCoordinator(n, row, input) ==
  IF row.leaderEpoch = MaxCoordinators \/ input.tail \notin row.log.tails THEN Disabled
  ELSE Outcome([row EXCEPT !.leaderEpoch = @ + 1, !.log = Loaded(@, input.tail),
                           !.waiting = WaitingAfterMove(@)],
               {})

Inputs_GroupSessionTimeout(n, row) ==
  {[type |-> "GroupSessionTimeout", member |-> k] : k \in Members}
Inputs_RebalanceTimeout(n, row) == {[type |-> "RebalanceTimeout", member |-> k] : k \in Members}
Inputs_GrowTopic(n, row) == {[type |-> "GrowTopic", partition |-> p] : p \in Growing}
Inputs_DeleteTopic(n, row) == {[type |-> "DeleteTopic", partition |-> p] : p \in Growing}
Inputs_MoveCoordinator(n, row) == {[type |-> "MoveCoordinator", tail |-> t] : t \in row.log.tails}
=============================================================================
