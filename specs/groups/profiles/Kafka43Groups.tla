--------------------------- MODULE Kafka43Groups ---------------------------
(***************************************************************************)
(* A group as Apache Kafka runs it, where that is not what the specs        *)
(* say is right; as Kafka43 is of the quorum, and under the same law.       *)
(***************************************************************************)
EXTENDS GroupHandlers, MembershipClient, GroupReplay, GroupOffsets, GroupMigration, TLC

CONSTANT Entries

(* own-instance-refused: a member that joins under an instance id in use is *)
(* refused, even if the id is its own.                                      *)
Kafka_MemberEpochError(member, m) ==
  CASE m.epoch = JoinEpoch ->
         IF /\ "own-instance-refused" \in Entries /\ m.source \in UNION Static
            /\ member.epoch # ReleasedEpoch
         THEN "UNRELEASED_INSTANCE_ID" ELSE JoinError(member)
    [] m.epoch > member.epoch -> "FENCED_MEMBER_EPOCH"
    [] m.epoch < member.epoch /\ ~AcceptsPreviousEpoch(member, m) -> "FENCED_MEMBER_EPOCH"
    [] OTHER -> "NONE"

(* leaves-as-it-was: only the epoch shows that a member has left            *)
(* temporarily.                                                             *)
AsItWas == "leaves-as-it-was" \in Entries

Kafka_Released(member) ==
  [member EXCEPT !.state = IF AsItWas THEN @ ELSE "Stable",
                 !.epoch = ReleasedEpoch,
                 !.previousEpoch = IF AsItWas THEN @ ELSE ReleasedEpoch,
                 !.assigned = KeptForAWhile(member), !.pending = {}]

(* empty-has-target: with its last member a group loses the need for another *)
(* target.                                                                  *)
MayHaveTarget(group) ==
  {group} \cup
  IF "empty-has-target" \in Entries /\ \A k \in Members : group.members[k].state = "None"
  THEN {[group EXCEPT !.targetEpoch = group.epoch]} ELSE {}

Left(row, n) ==
  UNION {Outcome([row EXCEPT !.log = Appended(@, group)], {}) :
           group \in MayHaveTarget(WithoutMember(Newest(row.log), n))}

Kafka_Leave(n, row, m) ==
  LET group == Newest(row.log)
      left == IF m.epoch = LeaveEpoch THEN MayHaveTarget(WithoutMember(group, m.source))
              ELSE {WithMember(group, m.source, Kafka_Released(group.members[m.source]))}
  IN {Done(row, each, Answer(n, m, "NONE", m.epoch, FALSE, {})) : each \in left}

Kafka_HandleGroupSessionTimeout(n, row, input) ==
  IF Newest(row.log).members[input.member].state = "None" THEN Disabled
  ELSE Left(row, input.member)

(* It had to revoke something when it left: its timer is of the epoch       *)
(* before, and does nothing, or of a coordinator that has loaded it so.     *)
Kafka_HandleRebalanceTimeout(n, row, input) ==
  LET member == Newest(row.log).members[input.member]
  IN IF ~IsRevocationLate(member) THEN Disabled
     ELSE Left(row, input.member)
            \cup (IF AsItWas /\ member.epoch = ReleasedEpoch THEN Outcome(row, {}) ELSE {})
=============================================================================
