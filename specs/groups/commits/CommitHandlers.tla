--------------------------- MODULE CommitHandlers ---------------------------
(***************************************************************************)
(* Groups with the offsets that members commit (G28-G30, G33): membership,  *)
(* the coordinator's log, its failover, and commits together. GroupOffsets  *)
(* models one consumer; this module models all of them.                     *)
(*                                                                          *)
(* Only the offsets of the partition Followed are modelled, because         *)
(* partitions and membership do not depend on each other's offsets. A       *)
(* record of the log has two more fields than in GroupHandlers:             *)
(*                                                                          *)
(*   offset     what is committed of the partition; 0, too, if nothing is   *)
(*   since      the epoch in which who has it was given it (KIP-1251)       *)
(*                                                                          *)
(* A consumer's row has two more fields than in MembershipClient:           *)
(*                                                                          *)
(*   position   where it is, while it may fetch the partition; NoPosition   *)
(*              before it has heard what is committed                       *)
(*   requested  the commit that the application has asked for, or none: its *)
(*              offset, the epoch of the request, and whether it            *)
(*              is in flight                                                *)
(*                                                                          *)
(* Messages: OffsetFetch, OffsetCommit, and their responses.  Records are   *)
(* handed out in the step in which they are committed.                      *)
(***************************************************************************)
EXTENDS GroupHandlers, MembershipClient, CommitRules, TLC

NoPosition == -1

InitialCommitsGroup == [offset |-> 0, since |-> 0] @@ InitialGroup
InitialCommitsCoordinator ==
  [leaderEpoch |-> 1, log |-> InitialLog(InitialCommitsGroup), waiting |-> {}]

-----------------------------------------------------------------------------
(* These replace operators of GroupHandlers and MembershipClient.           *)

(* A partition that a member is given has the member's epoch.               *)
WithMemberSince(group, n, after) ==
  [group EXCEPT
     !.held = HeldAfter(@, group.members[n], after),
     !.since = IF Followed \in after.assigned \ group.members[n].assigned THEN after.epoch
               ELSE IF Followed \in Holding(group.members[n]) \ Holding(after) THEN 0 ELSE @,
     !.members[n] = after]

InitialCommittingMember ==
  [state |-> "Unsubscribed", epoch |-> JoinEpoch, subscribed |-> {}, owned |-> {},
   current |-> {}, target |-> {}, reconciled |-> TRUE, busy |-> FALSE, reconciling |-> {},
   outdated |-> FALSE, unsent |-> AllFields, awaiting |-> FALSE, correlation |-> 0,
   position |-> NoPosition, requested |-> {}]

(* In the beginning all have subscribed to all.                             *)
FirstMember ==
  [InitialCommittingMember EXCEPT !.state = "Joining", !.subscribed = Partitions]

(* A consumer that must not fetch has no position.                          *)
DoingWithPosition(row, sent) ==
  {[row |-> [row EXCEPT !.position = IF Followed \in row.owned THEN @ ELSE NoPosition],
    sent |-> sent, ignored |-> ""]}

(* A requested commit stays requested (G25).                                *)
FencedCommitting(row) ==
  [InitialCommittingMember EXCEPT
     !.state = "Joining", !.subscribed = row.subscribed, !.correlation = row.correlation,
     !.owned = OwnedAfterFence(row.owned), !.requested = row.requested]

-----------------------------------------------------------------------------
(* The coordinator.                                                         *)

Telling(n, m, type, error, epoch, offset) ==
  [type |-> type, source |-> n, destination |-> m.source, error |-> error, epoch |-> epoch,
   offset |-> offset]

(* While a record is uncommitted, nothing is returned and consumers retry   *)
(* (G28, G33).                                                              *)
Step_HandleOffsetFetch(n, row, m) ==
  LET group == Newest(row.log)
      told(error, offset) == {Telling(n, m, "OffsetFetchResponse", error, m.epoch, offset)}
  IN CASE WaitsForWritten(row) -> Ignored(row, "Unwritten")
       [] ~TellsOffset(group.members[m.source], m.epoch) ->
            Outcome(row, told("STALE_MEMBER_EPOCH", 0))
       [] OTHER -> Outcome(row, told("NONE", Beginning(group)))

(* An operation with a record. An error is returned at once (G30).          *)
Step_HandleOffsetCommit(n, row, m) ==
  LET group == Newest(row.log)
      member == group.members[m.source]
      error == CASE member.state = "None" -> "UNKNOWN_MEMBER_ID"
                 [] ~AcceptsCommit(group, member, m.epoch) -> "STALE_MEMBER_EPOCH"
                 [] OTHER -> "NONE"
      told == {Telling(n, m, "OffsetCommitResponse", error, m.epoch, m.offset)}
      after == [row EXCEPT !.log = Appended(@, [group EXCEPT !.offset = m.offset])]
  IN CASE error # "NONE" -> Outcome(row, told)
       [] IsAnswered(after) -> Outcome(after, told)
       [] OTHER -> Outcome([after EXCEPT !.waiting = @ \cup told], {})

-----------------------------------------------------------------------------
(* Members.                                                                 *)

Asks(n, type, epoch, offset) ==
  [type |-> type, source |-> n, destination |-> 0, epoch |-> epoch, offset |-> offset]

(* G28.  Also if nothing is committed: then it begins with the first one.   *)
Step_HandleAskOffset(n, row, input) ==
  IF Followed \notin row.owned \/ row.position # NoPosition THEN {}
  ELSE Doing(row, {Asks(n, "OffsetFetch", row.epoch, 0)})

Step_HandleOffsetFetchResponse(n, row, m) ==
  LET isAwaited == Followed \in row.owned /\ row.position = NoPosition /\ m.epoch = row.epoch
  IN IF m.error # "NONE" \/ ~isAwaited THEN {[row |-> row, sent |-> {}, ignored |-> "Late"]}
     ELSE Doing([row EXCEPT !.position = m.offset], {})

(* G29.  What has been handed out meanwhile is committed with it.           *)
Step_HandleRequestCommit(n, row, input) ==
  IF row.requested # {} \/ row.position = NoPosition \/ input.offset <= row.position THEN {}
  ELSE Doing([row EXCEPT !.position = input.offset,
                         !.requested = {[offset |-> input.offset, epoch |-> row.epoch,
                                         sent |-> FALSE]}],
             {})

SentAs(row, sent) == [row EXCEPT !.requested = {[r EXCEPT !.sent = sent] : r \in @}]

(* A join also reports the request.                                         *)
Step_HandleCommitOffsets(n, row, input) ==
  LET asked == {r \in row.requested : ~r.sent} IN
  IF asked = {} THEN {}
  ELSE Doing(SentAs(row, TRUE),
             {Asks(n, "OffsetCommit", StampedEpoch(row, r), r.offset) : r \in asked})

(* No response came in time, so it retries.                                 *)
Step_HandleCommitTimeout(n, row, input) ==
  IF ~\E r \in row.requested : r.sent THEN {} ELSE Doing(SentAs(row, FALSE), {})

Step_HandleOffsetCommitResponse(n, row, m) ==
  IF ~\E r \in row.requested : r.sent /\ r.offset = m.offset /\ r.epoch = m.epoch
  THEN {[row |-> row, sent |-> {}, ignored |-> "Late"]}
  ELSE Doing([row EXCEPT !.requested = {}], {})
=============================================================================
