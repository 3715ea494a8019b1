-------------------------- MODULE MembershipClient --------------------------
(***************************************************************************)
(* A consumer as a member of its group (G23 to G27).  Its row:              *)
(*                                                                          *)
(*   state         "Unsubscribed", "Joining", "Reconciling",                *)
(*                 "Acknowledging", "Stable"; "Fatal", which it stays       *)
(*   epoch         the last member epoch received                           *)
(*   subscribed    the topics that it asks for                              *)
(*   owned         the partitions that it may fetch                         *)
(*   current       those of the last assignment that it has finished        *)
(*   target        the last assignment received                             *)
(*   reconciled    whether the assignment it finished is the last one told  *)
(*   busy          whether it is giving up and taking partitions            *)
(*   reconciling   the assignment that it then works on                     *)
(*   outdated      whether a newer one has arrived                          *)
(*   unsent        what has changed since the last heartbeat                *)
(*   awaiting      whether a heartbeat is in flight, which has the number   *)
(*   correlation   (numbers wrap)                                           *)
(*                                                                          *)
(* It gives up partitions and takes others in two steps, because the        *)
(* callbacks of the application run in between. After the first step it no  *)
(* longer fetches the old ones; after the second it fetches the new ones.   *)
(*                                                                          *)
(* A member that was fenced drops everything and rejoins in one step.       *)
(***************************************************************************)
EXTENDS GroupRules

CONSTANT MaxCorrelation

InitialMember ==
  [state |-> "Unsubscribed", epoch |-> JoinEpoch, subscribed |-> {}, owned |-> {},
   current |-> {}, target |-> {}, reconciled |-> TRUE, busy |-> FALSE, reconciling |-> {},
   outdated |-> FALSE, unsent |-> AllFields, awaiting |-> FALSE, correlation |-> 0]

Doing(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}

IsMember(row) == row.state \notin {"Unsubscribed", "Fatal"}

NextCorrelation(row) == IF row.correlation = MaxCorrelation THEN 1 ELSE row.correlation + 1

Said(n, row, given, epoch) ==
  [type |-> "GroupHeartbeat", source |-> n, destination |-> 0,
   correlation |-> NextCorrelation(row), epoch |-> epoch, given |-> given,
   subscribed |-> IF "Subscription" \in given THEN row.subscribed ELSE {},
   owned |-> IF "Owned" \in given THEN Report(row) ELSE {}]

-----------------------------------------------------------------------------
(* The application: subscribe, unsubscribe.                                 *)

(* ACTION HandleSubscribe                                                   *)
(* WHO    a member                                                          *)
(* WHAT   The application subscribes, or changes its subscription; the next *)
(*        heartbeat reports it.                                             *)
Step_HandleSubscribe(n, row, input) ==
  CASE row.state = "Unsubscribed" ->
         Doing([row EXCEPT !.state = "Joining", !.subscribed = input.topics], {})
    [] input.topics = row.subscribed \/ row.state = "Fatal" -> {}
    [] OTHER -> Doing([row EXCEPT !.subscribed = input.topics,
                                  !.unsent = @ \cup {"Subscription"}], {})

(* ACTION HandleUnsubscribe                                                 *)
(* WHO    a member                                                          *)
(* WHAT   The application unsubscribes when no heartbeat is in flight; the  *)
(*        member leaves (G19).                                              *)
Step_HandleUnsubscribe(n, row, input) ==
  IF ~IsMember(row) \/ row.awaiting THEN {}
  ELSE Doing([InitialMember EXCEPT !.correlation = NextCorrelation(row)],
             {Said(n, row, {}, EpochOfLeaving(n))})

-----------------------------------------------------------------------------
(* G23: heartbeats.                                                         *)

(* ACTION HandleSendGroupHeartbeat                                          *)
(* WHO    a member                                                          *)
(* WHAT   It sends one heartbeat with its changes, or with everything after *)
(*        a failure (G23).                                                  *)
Step_HandleSendGroupHeartbeat(n, row, input) ==
  LET given == IF row.state = "Joining" THEN AllFields ELSE row.unsent
  IN IF ~IsMember(row) \/ row.awaiting THEN {}
     ELSE Doing([row EXCEPT
                   !.state = IF @ # "Acknowledging" THEN @
                             ELSE IF row.reconciled THEN "Stable" ELSE "Reconciling",
                   !.unsent = {}, !.awaiting = TRUE, !.correlation = NextCorrelation(row)],
                {Said(n, row, given, row.epoch)})

(* No answer came in time, or the connection was closed.                    *)
Failed(row) == [row EXCEPT !.awaiting = FALSE, !.unsent = UnsentAfterFailure(@)]

(* ACTION HandleHeartbeatTimeout                                            *)
(* WHO    a member                                                          *)
(* WHAT   No response came in time, or the connection was closed. The next  *)
(*        heartbeat reports everything (G23).                               *)
Step_HandleHeartbeatTimeout(n, row, input) ==
  IF row.awaiting THEN Doing(Failed(row), {}) ELSE {}

(* G25.                                                                     *)
Fenced(row) ==
  [InitialMember EXCEPT
     !.state = "Joining", !.subscribed = row.subscribed, !.correlation = row.correlation,
     !.owned = OwnedAfterFence(row.owned)]

GivenUp(row) == [InitialMember EXCEPT !.state = "Fatal", !.correlation = row.correlation]

(* G24: an assignment.  It is another one if it has other partitions than   *)
(* the last one; of the first, while joining, there is none before.         *)
Told(row, assigned) ==
  CASE row.state = "Joining" \/ assigned # row.target ->
         [row EXCEPT !.state = "Reconciling", !.target = assigned, !.reconciled = FALSE,
                     !.outdated = row.busy]
    [] ~row.reconciled -> [row EXCEPT !.state = "Reconciling"]
    [] OTHER -> row

(* ACTION HandleGroupHeartbeatResponse                                      *)
(* WHO    a member                                                          *)
(* WHAT   It adopts the epoch and a new assignment. After an error it drops *)
(*        everything and joins again, or gives up (G24, G25).               *)
Step_HandleGroupHeartbeatResponse(n, row, m) ==
  LET heard == [row EXCEPT !.epoch = m.epoch, !.awaiting = FALSE] IN
  CASE ~IsAwaited(row, m) -> {[row |-> row, sent |-> {}, ignored |-> "Late"]}
    [] m.error \in {"UNRELEASED_INSTANCE_ID", "FENCED_INSTANCE_ID"} -> Doing(GivenUp(row), {})
    [] m.error # "NONE" -> Doing(Fenced(row), {})
    [] m.tells -> Doing(Told(heard, m.assigned), {})
    [] OTHER -> Doing(heard, {})

-----------------------------------------------------------------------------
(* G24: from one assignment to the next.                                    *)

(* ACTION HandleStartReconciliation                                         *)
(* WHO    a member                                                          *)
(* WHAT   It stops fetching revoked partitions, and the callbacks begin     *)
(*        (G24).                                                            *)
Step_HandleStartReconciliation(n, row, input) ==
  CASE row.state # "Reconciling" \/ row.busy -> {}
    [] row.target = row.current ->
         Doing([row EXCEPT !.state = "Acknowledging", !.reconciled = TRUE,
                           !.unsent = @ \cup {"Owned"}], {})
    [] OTHER -> Doing([row EXCEPT !.busy = TRUE, !.reconciling = row.target,
                                  !.owned = @ \cap row.target], {})

(* ACTION HandleCompleteReconciliation                                      *)
(* WHO    a member                                                          *)
(* WHAT   The callbacks have ended. It fetches the new partitions, and      *)
(*        acknowledges them (G24).                                          *)
Step_HandleCompleteReconciliation(n, row, input) ==
  IF ~row.busy THEN {}
  ELSE Doing([row EXCEPT !.state = "Acknowledging", !.busy = FALSE, !.owned = row.reconciling,
                         !.current = row.reconciling, !.reconciling = {},
                         !.reconciled = ~row.outdated, !.outdated = FALSE,
                         !.unsent = @ \cup {"Owned"}], {})

Inputs_Subscribe(n, row) ==
  {[type |-> "Subscribe", topics |-> t] : t \in SUBSET Partitions \ {{}}}
=============================================================================
