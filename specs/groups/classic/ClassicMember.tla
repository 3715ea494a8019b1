---------------------------- MODULE ClassicMember ----------------------------
(***************************************************************************)
(* A consumer as a member of a group of the classic protocol (G42 to G44).  *)
(* Its row:                                                                 *)
(*                                                                          *)
(*   state         "Unsubscribed"; "Joining": it is to join, or waits for   *)
(*                 all to have joined; "Syncing": it waits for its          *)
(*                 assignment; "Stable"                                     *)
(*   hasId         whether it has a member id                               *)
(*   generation    that it joined last                                      *)
(*   owned         the partitions that it may fetch                         *)
(*   awaiting      whether a request is in flight, which has the number     *)
(*   correlation   (numbers wrap)                                           *)
(*                                                                          *)
(* Callbacks of the application run within a step. The leader computes the  *)
(* assignments when it receives the list of members, and sends them with    *)
(* its request.                                                             *)
(***************************************************************************)
EXTENDS ClassicRules

CONSTANT MaxCorrelation

InitialMember ==
  [state |-> "Unsubscribed", hasId |-> FALSE, generation |-> NoGeneration, owned |-> {},
   awaiting |-> FALSE, correlation |-> 0]

Doing(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}

NextCorrelation(row) == IF row.correlation = MaxCorrelation THEN 1 ELSE row.correlation + 1
Asking(row) == [row EXCEPT !.awaiting = TRUE, !.correlation = NextCorrelation(row)]

-----------------------------------------------------------------------------
(* The application.                                                         *)

Step_HandleSubscribeClassic(n, row, input) ==
  IF row.state # "Unsubscribed" THEN {} ELSE Doing([row EXCEPT !.state = "Joining"], {})

(* It waits until no request is in flight.                                  *)
Step_HandleUnsubscribeClassic(n, row, input) ==
  IF row.state = "Unsubscribed" \/ row.awaiting THEN {}
  ELSE Doing([InitialMember EXCEPT !.correlation = row.correlation],
             IF row.hasId THEN {[type |-> "LeaveGroup", source |-> n, destination |-> 0]} ELSE {})

(* Of the topics there is something new.                                    *)
Step_HandleRequestRejoin(n, row, input) ==
  IF row.state # "Stable" \/ row.awaiting THEN {} ELSE Doing([row EXCEPT !.state = "Joining"], {})

-----------------------------------------------------------------------------
(* G38, G43, G44: it joins.                                                 *)

Step_HandleSendJoinGroup(n, row, input) ==
  LET asking == [Asking(row) EXCEPT !.owned = OwnedWhileJoining(@)]
      request == [type |-> "JoinGroup", source |-> n, destination |-> 0,
                  correlation |-> asking.correlation, hasId |-> row.hasId,
                  owned |-> asking.owned, claimed |-> ClaimedGeneration(row)]
  IN IF row.state # "Joining" \/ row.awaiting THEN {} ELSE Doing(asking, {request})

(* G42.  It is no member any more, or none of this generation.              *)
Reset(row, hasId) ==
  [row EXCEPT !.state = "Joining", !.hasId = hasId, !.generation = NoGeneration,
              !.owned = OwnedAfterReset(@), !.awaiting = FALSE]

Assigned(claims, owner) ==
  {[member |-> c.member,
    partitions |-> {p \in Partitions : owner[p] = c.member /\ ~IsWithheld(claims, c.member, p)}] :
     c \in claims}

Syncing(n, row, m, assignments) ==
  LET asking == [Asking(row) EXCEPT !.state = "Syncing", !.hasId = TRUE,
                                    !.generation = m.generation]
  IN [row |-> asking, ignored |-> "",
      sent |-> {[type |-> "SyncGroup", source |-> n, destination |-> 0,
                 correlation |-> asking.correlation, generation |-> m.generation,
                 assignments |-> assignments]}]

Late(row) == {[row |-> row, sent |-> {}, ignored |-> "Late"]}

Step_HandleJoinGroupResponse(n, row, m) ==
  CASE ~IsAwaited(row, m) -> Late(row)
    [] m.error # "NONE" -> Doing(Reset(row, FALSE), {})
    [] m.claims = {} -> {Syncing(n, row, m, {})}
    [] OTHER -> {Syncing(n, row, m, Assigned(m.claims, owner)) : owner \in Targets(m.claims)}

-----------------------------------------------------------------------------
(* G39, G40: it is assigned its partitions, and lives.                      *)

(* What it has received about its generation and itself.                    *)
Refused(row, error) ==
  CASE error = "UNKNOWN_MEMBER_ID" -> Reset(row, FALSE)
    [] error = "ILLEGAL_GENERATION" -> Reset(row, TRUE)
    [] OTHER -> [row EXCEPT !.state = "Joining", !.awaiting = FALSE]

Step_HandleSyncGroupResponse(n, row, m) ==
  CASE ~IsAwaited(row, m) -> Late(row)
    [] m.error # "NONE" -> Doing(Refused(row, m.error), {})
    [] OTHER -> Doing([row EXCEPT
                         !.state = IF JoinsAgain(row.owned, m.assigned) THEN "Joining"
                                   ELSE "Stable",
                         !.owned = m.assigned, !.awaiting = FALSE], {})

Step_HandleSendClassicHeartbeat(n, row, input) ==
  LET asking == Asking(row)
  IN IF row.state # "Stable" \/ row.awaiting THEN {}
     ELSE Doing(asking, {[type |-> "ClassicHeartbeat", source |-> n, destination |-> 0,
                          correlation |-> asking.correlation, generation |-> row.generation]})

Step_HandleClassicHeartbeatResponse(n, row, m) ==
  CASE ~IsAwaited(row, m) -> Late(row)
    [] m.error # "NONE" -> Doing(Refused(row, m.error), {})
    [] OTHER -> Doing([row EXCEPT !.awaiting = FALSE], {})

(* No answer came in time, or the connection was closed.                    *)
Step_HandleClassicRequestTimeout(n, row, input) ==
  IF ~row.awaiting THEN {}
  ELSE Doing([row EXCEPT !.awaiting = FALSE,
                         !.state = IF @ = "Syncing" THEN "Joining" ELSE @], {})
=============================================================================
