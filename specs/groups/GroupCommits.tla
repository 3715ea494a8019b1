---------------------------- MODULE GroupCommits -----------------------------
(***************************************************************************)
(* Groups with the offsets that members commit (G28-G30, G33): membership,  *)
(* the coordinator's log, its failover, and commits in one piece.  What     *)
(* GroupOffsets says of one consumer is said here of all of them.           *)
(*                                                                          *)
(* Offsets of one partition are followed, Watched: those of another do not  *)
(* touch them, and no offset touches membership.  A record of the log has   *)
(* two fields more:                                                         *)
(*                                                                          *)
(*   offset     what is committed of the partition; 0, too, if nothing is   *)
(*   since      the epoch in which who has it was given it (KIP-1251)       *)
(*                                                                          *)
(* positions[n] is where consumer n is, while it may fetch the partition;   *)
(* NoPosition before it has heard what is committed.  commit: the one that  *)
(* is in flight:                                                            *)
(*                                                                          *)
(*   state      "None"; "Sent"; "Appended", and not committed               *)
(*   member, offset, and the epoch in which it was asked for                *)
(*                                                                          *)
(* What is left out, and changes no property (docs/groups.md):              *)
(*  1. Records are handed out in the step in which they are committed.      *)
(*  2. What is committed is asked for and heard in one step.                *)
(*  3. A coordinator commits what it appends in the same step, or stalls:   *)
(*     then it commits nothing any more.  A commit that comes later is an   *)
(*     answer that travels longer.                                          *)
(*  4. The last coordinator does not stall, and commits what it has loaded  *)
(*     in the step that loads it.                                           *)
(*  5. Another coordinator takes over from one that has stalled only.  Who  *)
(*     then has no answer to wait for notices it in the same step.          *)
(***************************************************************************)
EXTENDS GroupProperties, TLC

CONSTANTS
  Watched,      \* a partition
  MaxOffset     \* of its records

VARIABLES positions, commit

NoPosition == -1
NoCommit == [state |-> "None", member |-> Coordinator, offset |-> 0, epoch |-> 0]

(* All have subscribed to all.                                              *)
FirstMember ==
  [InitialMember EXCEPT !.state = "Joining", !.subscribed = Partitions,
                        !.correlation = MaxCorrelation]

CommitsInit ==
  /\ coordinator = [InitialCoordinator EXCEPT
       !.log = InitialLog([offset |-> 0, since |-> 0] @@ InitialGroup)]
  /\ clients = [n \in Members |-> FirstMember]
  /\ network = {}
  /\ positions = [n \in Members |-> NoPosition]
  /\ commit = NoCommit

-----------------------------------------------------------------------------
(* Rules.                                                                   *)

(* G30.  A member's own epoch, or an earlier one since it has the partition *)
(* (KIP-1251).                                                              *)
AcceptsCommit(group, member, epoch) ==
  \/ epoch = member.epoch
  \/ epoch < member.epoch /\ Watched \in Holding(member) /\ group.since <= epoch

(* G3.  A commit is answered when it is committed.                          *)
IsAnswered(row) == row.log.leader = <<>>

(* G28.  Where who takes the partition begins.                              *)
Beginning(group) == group.offset

(* G33.  Who asks what is committed is a member in its epoch.               *)
TellsOffset(member, epoch) == member.state # "None" /\ epoch = member.epoch

-----------------------------------------------------------------------------
(* In the place of what Groups and GroupHandlers say (models/*.cfg).        *)

(* A partition that a member is given has the member's epoch.               *)
WithMemberSince(group, n, after) ==
  [group EXCEPT
     !.held = HeldAfter(@, group.members[n], after),
     !.since = IF Watched \in after.assigned \ group.members[n].assigned THEN after.epoch
               ELSE IF Watched \in Holding(group.members[n]) \ Holding(after) THEN 0 ELSE @,
     !.members[n] = after]

Of(messages, n) == {m \in messages : m.destination = n}

IsFailOver == coordinator'.leaderEpoch # coordinator.leaderEpoch
IsLastTenure(row) == row.leaderEpoch = MaxCoordinators
CommittedAll(outcome) ==
  [outcome EXCEPT !.row.log = Committed(@), !.row.waiting = {},
                  !.sent = @ \cup outcome.row.waiting]

(* What waits for a coordinator that has stalled is not remembered: nobody  *)
(* is told it.                                                              *)
Outcomes(outcome) ==
  LET stalled == [outcome EXCEPT !.row.waiting = {}] IN
  CASE IsLastTenure(outcome.row) -> {CommittedAll(outcome)}
    [] outcome.row.log.leader = <<>> -> {outcome}
    [] coordinator.log.leader # <<>> -> {stalled}
    [] OTHER -> {stalled, CommittedAll(outcome)}

LiftOrStall(outcome, rows, left) ==
  \E done \in Outcomes(outcome) :
    /\ coordinator' = done.row
    /\ clients' = rows
    /\ network' = Expected(left \cup done.sent, rows)

-----------------------------------------------------------------------------
(* Offsets.                                                                 *)

(* Who may not fetch any more has no position.                              *)
WithPositions(Action) ==
  /\ Action
  /\ positions' = [n \in Members |->
                     IF Watched \in clients'[n].owned THEN positions[n] ELSE NoPosition]

(* G28.  Also if nothing is committed: then it begins with the first one.   *)
HearOffset(n) ==
  LET group == Newest(coordinator.log) IN
  /\ Watched \in clients[n].owned /\ positions[n] = NoPosition
  /\ TellsOffset(group.members[n], clients[n].epoch) /\ ~WaitsForWritten(coordinator)
  /\ positions' = [positions EXCEPT ![n] = Beginning(group)]
  /\ UNCHANGED <<vars, commit>>

(* G29.  What has been handed out meanwhile is committed with it.           *)
AskCommit(n, offset) ==
  /\ commit = NoCommit /\ positions[n] # NoPosition /\ offset > positions[n]
  /\ positions' = [positions EXCEPT ![n] = offset]
  /\ commit' = [state |-> "Sent", member |-> n, offset |-> offset, epoch |-> clients[n].epoch]
  /\ UNCHANGED vars

(* G30.  Its answer is that of an operation with a record; an error is told *)
(* at once.                                                                 *)
HandleCommit ==
  LET group == Newest(coordinator.log)
      n == commit.member
      accepts == /\ group.members[n].state # "None"
                 /\ AcceptsCommit(group, group.members[n], StampedEpoch(clients[n], commit))
      appended == [coordinator EXCEPT !.log = Appended(@, [group EXCEPT !.offset = commit.offset])]
  IN /\ commit.state = "Sent"
     /\ IF ~accepts THEN commit' = NoCommit /\ UNCHANGED <<vars, positions>>
        ELSE \E done \in Outcomes([row |-> appended, sent |-> {}]) :
               /\ coordinator' = done.row
               /\ commit' = IF IsAnswered(done.row) THEN NoCommit
                            ELSE [commit EXCEPT !.state = "Appended"]
               /\ UNCHANGED <<clients, network, positions>>

(* Another coordinator takes over from one that has stalled (from another   *)
(* one it would find what that has answered).  Who then has no answer to    *)
(* wait for asks again.                                                     *)
FailOver(tail) ==
  LET unanswered == {n \in Members : clients[n].awaiting /\ Of(network, n) = {}}
      rows == [n \in Members |-> IF n \in unanswered THEN Failed(clients[n]) ELSE clients[n]]
  IN /\ coordinator.log.leader # <<>>
     /\ \E o \in Step_HandleMoveCoordinator(Coordinator, coordinator,
                                            [type |-> "MoveCoordinator", tail |-> tail]) :
          WithPositions(LiftOrStall(o, rows, network))
     /\ commit' = IF commit.state = "Appended" THEN [commit EXCEPT !.state = "Sent"] ELSE commit
=============================================================================
