--------------------------- MODULE ClassicHandlers ---------------------------
(***************************************************************************)
(* What the coordinator of a group of the classic protocol does with an     *)
(* input (G37 to G41, G49).  Its row:                                       *)
(*                                                                          *)
(*   leaderEpoch   of its partition                                         *)
(*   state         "Empty"; "Preparing": members join; "Completing": they   *)
(*                 ask for their assignments; "Stable"                      *)
(*   generation    of the group                                             *)
(*   leader        the member that assigns                                  *)
(*   members       members[n]: what is known of member n                    *)
(*   log           the group's, of images: generation, leader, members      *)
(*                 (GroupLog)                                               *)
(*                                                                          *)
(* A member:                                                                *)
(*                                                                          *)
(*   known         whether it is one                                        *)
(*   owned         what it said that it has, when it joined last, and that  *)
(*   claimed       it has it since this generation                          *)
(*   assigned      what it was given                                        *)
(*   joined        whether it waits for all to join                         *)
(*   syncing       whether it waits for its assignment                      *)
(*   correlation   of the request that waits                                *)
(*                                                                          *)
(* A member receives its id in response to its first request (KIP-394).     *)
(* This exchange is left out. A member that joins without an id replaces    *)
(* its former self, which would otherwise stay a member until its session   *)
(* ends.                                                                    *)
(***************************************************************************)
EXTENDS ClassicRules, GroupLog

CONSTANT MaxCoordinators   \* how many leader epochs the log may have

Coordinator == 0   \* its address

NoMember ==
  [known |-> FALSE, owned |-> {}, claimed |-> NoGeneration, assigned |-> {}, joined |-> FALSE,
   syncing |-> FALSE, correlation |-> 0]
NoGroup == [generation |-> 0, leader |-> Nobody, members |-> [n \in Members |-> NoMember]]
InitialCoordinator ==
  [leaderEpoch |-> 1, state |-> "Empty", generation |-> 0, leader |-> Nobody,
   members |-> NoGroup.members, log |-> InitialLog(NoGroup)]

Outcome(row, sent) == [row |-> row, sent |-> sent, ignored |-> ""]
Unanswered(row, why) == {[row |-> row, sent |-> {}, ignored |-> why]}
Disabled == {}

Known(row) == {n \in Members : row.members[n].known}

-----------------------------------------------------------------------------
(* Answers.                                                                 *)

JoinAnswer(n, correlation, error, row) ==
  [type |-> "JoinGroupResponse", source |-> Coordinator, destination |-> n,
   correlation |-> correlation, error |-> error,
   generation |-> IF error = "NONE" THEN row.generation ELSE NoGeneration,
   claims |-> IF error = "NONE" /\ n = row.leader
              THEN {[member |-> k, owned |-> row.members[k].owned,
                     generation |-> row.members[k].claimed] : k \in Known(row)}
              ELSE {}]

SyncAnswer(n, correlation, error, assigned) ==
  [type |-> "SyncGroupResponse", source |-> Coordinator, destination |-> n,
   correlation |-> correlation, error |-> error, assigned |-> assigned]

HeartbeatAnswer(n, correlation, error) ==
  [type |-> "ClassicHeartbeatResponse", source |-> Coordinator, destination |-> n,
   correlation |-> correlation, error |-> error]

-----------------------------------------------------------------------------
(* The states of a group (G37).                                             *)

Waiting(member) == [member EXCEPT !.joined = FALSE, !.syncing = FALSE, !.correlation = 0]

Image(row) ==
  [generation |-> row.generation, leader |-> row.leader,
   members |-> [n \in Members |-> Waiting(row.members[n])]]
Writing(row) == [row EXCEPT !.log = Appended(@, Image(row))]

(* All have joined.  The first leader stays one.                            *)
Joined(row) ==
  LET led(leader) ==
        [row EXCEPT !.state = "Completing", !.generation = NextGeneration(@),
                    !.leader = leader, !.members = [n \in Members |-> Waiting(@[n])]]
      told(after) == {JoinAnswer(n, row.members[n].correlation, "NONE", after) : n \in Known(row)}
      gone == [row EXCEPT !.state = "Empty", !.generation = NextGeneration(@),
                          !.leader = Nobody]
  IN IF Known(row) = {} THEN {Outcome(Writing(gone), {})}
     ELSE {Outcome(led(leader), told(led(leader))) :
             leader \in IF row.leader \in Known(row) THEN {row.leader} ELSE Known(row)}

JoinedBy(row, sent) ==
  IF \E n \in Known(row) : ~row.members[n].joined THEN {Outcome(row, sent)}
  ELSE {[o EXCEPT !.sent = @ \cup sent] : o \in Joined(row)}

(* All members must join. A member that waits for an assignment receives    *)
(* none.                                                                    *)
Preparing(row, sent) ==
  LET syncing == {n \in Members : row.members[n].syncing}
      refused == {SyncAnswer(n, row.members[n].correlation, "REBALANCE_IN_PROGRESS", {}) :
                    n \in syncing}
      begun == IF row.state = "Preparing" THEN row
               ELSE [row EXCEPT !.state = "Preparing",
                                !.members = [n \in Members |->
                                               IF n \in syncing THEN Waiting(@[n]) ELSE @[n]]]
  IN JoinedBy(begun, sent \cup refused)

-----------------------------------------------------------------------------
(* G38: members join.                                                       *)

Joining(row, m) ==
  LET kept == IF m.hasId THEN row.members[m.source] ELSE NoMember
  IN [row EXCEPT !.members[m.source] =
        [kept EXCEPT !.known = TRUE, !.owned = m.owned, !.claimed = m.claimed, !.joined = TRUE,
                     !.syncing = FALSE, !.correlation = m.correlation]]

Step_HandleJoinGroup(n, row, m) ==
  LET isKnown == m.hasId /\ row.members[m.source].known
      again == JoinAnswer(m.source, m.correlation, "NONE", row)
      refused == JoinAnswer(m.source, m.correlation, "UNKNOWN_MEMBER_ID", row)
  IN CASE m.hasId /\ ~isKnown -> {Outcome(row, {refused})}
       [] isKnown /\ ~BeginsRebalance(row, m) -> {Outcome(row, {again})}
       [] OTHER -> Preparing(Joining(row, m), {})

-----------------------------------------------------------------------------
(* G39: members request their assignments, which the leader has computed. A *)
(* loaded group returns nothing before everything loaded is committed;      *)
(* members then retry.                                                      *)

(* The error for a request of a member in a generation.                     *)
MemberError(row, m) ==
  CASE ~row.members[m.source].known -> "UNKNOWN_MEMBER_ID"
    [] m.generation # row.generation -> "ILLEGAL_GENERATION"
    [] row.state = "Preparing" -> "REBALANCE_IN_PROGRESS"
    [] OTHER -> "NONE"

GivenTo(m, n) == UNION {a.partitions : a \in {a \in m.assignments : a.member = n}}

WithAssignments(row, m) ==
  [row EXCEPT !.members = [k \in Members |-> [@[k] EXCEPT !.assigned = GivenTo(m, k)]]]

(* All waiting members receive their assignments.                           *)
Settled(row) ==
  Outcome([row EXCEPT !.state = "Stable", !.members = [n \in Members |-> Waiting(@[n])]],
          {SyncAnswer(n, row.members[n].correlation, "NONE", row.members[n].assigned) :
             n \in {n \in Members : row.members[n].syncing}})

(* The assignments of this generation are in the log.                       *)
IsAssigned(row) ==
  /\ row.state = "Completing"
  /\ \E i \in 1..Len(row.log.leader) : row.log.leader[i].generation = row.generation

Step_HandleSyncGroup(n, row, m) ==
  LET error == MemberError(row, m)
      waits == [row EXCEPT !.members[m.source].syncing = TRUE,
                           !.members[m.source].correlation = m.correlation]
      written == Writing(WithAssignments(waits, m))
  IN CASE error # "NONE" -> {Outcome(row, {SyncAnswer(m.source, m.correlation, error, {})})}
       [] row.state = "Stable" /\ ~IsTold(row) -> Unanswered(row, "Unwritten")
       [] row.state = "Stable" ->
            {Outcome(row, {SyncAnswer(m.source, m.correlation, "NONE",
                                      row.members[m.source].assigned)})}
       [] m.source # row.leader \/ IsAssigned(row) -> {Outcome(waits, {})}
       [] IsTold(written) -> {Settled(written)}
       [] OTHER -> {Outcome(written, {})}

(* An error is returned at once (G3, G40).                                  *)
Step_HandleClassicHeartbeat(n, row, m) ==
  LET error == MemberError(row, m) IN
  IF error = "NONE" /\ ~IsTold(row) THEN Unanswered(row, "Unwritten")
  ELSE {Outcome(row, {HeartbeatAnswer(m.source, m.correlation, error)})}

-----------------------------------------------------------------------------
(* G41, and time: members go.                                               *)

Without(row, gone) ==
  LET left == [row EXCEPT !.members = [n \in Members |-> IF n \in gone THEN NoMember ELSE @[n]]]
  IN Preparing(left, {})

Step_HandleLeaveGroup(n, row, m) ==
  IF row.members[m.source].known THEN Without(row, {m.source}) ELSE {Outcome(row, {})}

Step_HandleClassicSessionTimeout(n, row, input) ==
  LET member == row.members[input.member] IN
  IF ~member.known \/ member.joined \/ member.syncing THEN Disabled
  ELSE Without(row, {input.member})

(* Late members are removed.                                                *)
Step_HandleClassicRebalanceTimeout(n, row, input) ==
  LET late == {k \in Members : IsRebalanceLate(row.state, row.members[k])}
  IN IF late = {} THEN Disabled ELSE Without(row, late)

-----------------------------------------------------------------------------
(* The log.                                                                 *)

(* The high watermark reaches the end of the log.                           *)
Step_HandleClassicCommit(n, row, input) ==
  LET committed == [row EXCEPT !.log = Committed(@)]
  IN IF row.log.leader = <<>> THEN Disabled
     ELSE IF IsAssigned(row) THEN {Settled(committed)} ELSE {Outcome(committed, {})}

(* G49.  Another broker leads the partition, with a log that it may have,   *)
(* and has loaded it.                                                       *)
Step_HandleMoveClassicCoordinator(n, row, input) ==
  LET log == Loaded(row.log, input.tail)
      image == Newest(log)
  IN IF row.leaderEpoch = MaxCoordinators \/ input.tail \notin row.log.tails THEN Disabled
     ELSE {Outcome([leaderEpoch |-> row.leaderEpoch + 1, state |-> LoadedState(image),
                    generation |-> image.generation, leader |-> image.leader,
                    members |-> image.members, log |-> log], {})}

Inputs_ClassicSessionTimeout(n, row) ==
  {[type |-> "ClassicSessionTimeout", member |-> k] : k \in Members}
Inputs_MoveClassicCoordinator(n, row) ==
  {[type |-> "MoveClassicCoordinator", tail |-> t] : t \in row.log.tails}
=============================================================================
