------------------------------ MODULE TwoPhase ------------------------------
(***************************************************************************)
(* Two-phase commit.  A coordinator asks all participants whether they can  *)
(* do what it was given, and tells them what it has decided.  It may crash: *)
(* then it forgets the votes, and knows only what it was given, what it has *)
(* decided and who has confirmed that.                                      *)
(***************************************************************************)
EXTENDS Integers

CONSTANTS Participants, Values

Coordinator == 0
Nothing == 0

InitialCoordinator ==
  [up |-> TRUE, value |-> Nothing, votes |-> [p \in Participants |-> "None"],
   decision |-> "None", confirmed |-> {}]
InitialParticipant == [state |-> "Working", value |-> Nothing]

IsRunning(row) == row.up

Outcome(row, sent) == {[row |-> row, sent |-> sent, ignored |-> ""]}
Ignore(row, reason) == {[row |-> row, sent |-> {}, ignored |-> reason]}
Disabled == {}

(* Rules: what bugs replace.                                                *)

(* What the votes come to, "None" as long as it is open.                    *)
Decided(row, votes) ==
  IF \E p \in Participants : votes[p] = "No" THEN "Abort"
  ELSE IF \A p \in Participants : votes[p] = "Yes" THEN "Commit"
  ELSE "None"

(* What is decided once the coordinator has come back.                      *)
OnRecovery(row) == IF row.decision = "None" THEN "Abort" ELSE row.decision

(* The coordinator.                                                         *)

Decisions(row, participants) ==
  {[type |-> "Decision", source |-> Coordinator, destination |-> p,
    commit |-> row.decision = "Commit"] : p \in participants}

Step_HandleBegin(n, row, input) ==
  IF ~row.up \/ row.value # Nothing THEN Disabled
  ELSE Outcome([row EXCEPT !.value = input.value],
               {[type |-> "Prepare", source |-> n, destination |-> p, value |-> input.value] :
                  p \in Participants})

Inputs_Begin(n, row) == {[type |-> "Begin", value |-> v] : v \in Values}

Step_HandleVote(n, row, m) ==
  LET votes == [row.votes EXCEPT ![m.source] = IF m.yes THEN "Yes" ELSE "No"]
      after == [row EXCEPT !.votes = votes, !.decision = Decided(row, votes)]
  IN IF row.decision # "None" THEN Ignore(row, "Decided")
     ELSE Outcome(after, IF after.decision = "None" THEN {} ELSE Decisions(after, Participants))

Step_HandleConfirm(n, row, m) == Outcome([row EXCEPT !.confirmed = @ \cup {m.source}], {})

Step_HandleStop(n, row, input) ==
  IF ~row.up THEN Disabled
  ELSE Outcome([row EXCEPT !.up = FALSE, !.votes = [p \in Participants |-> "None"]], {})

Step_HandleRecover(n, row, input) ==
  LET begun == row.value # Nothing
      after == [row EXCEPT !.up = TRUE, !.decision = IF begun THEN OnRecovery(row) ELSE @]
  IN IF row.up THEN Disabled
     ELSE Outcome(after, IF begun THEN Decisions(after, Participants \ row.confirmed) ELSE {})

(* A participant.                                                           *)

Step_HandlePrepare(n, row, m) ==
  LET vote(yes) == {[type |-> "Vote", source |-> n, destination |-> Coordinator, yes |-> yes]}
  IN CASE row.state = "Working" ->
            Outcome([row EXCEPT !.state = "Prepared", !.value = m.value], vote(TRUE))
       [] row.state = "Aborted" -> Outcome(row, vote(FALSE))
       [] OTHER -> Ignore(row, "Prepared")

Step_HandleDecision(n, row, m) ==
  Outcome([row EXCEPT !.state = IF m.commit THEN "Committed" ELSE "Aborted"],
          {[type |-> "Confirm", source |-> n, destination |-> Coordinator]})

Step_HandleRefuse(n, row, input) ==
  IF row.state # "Working" THEN Disabled ELSE Outcome([row EXCEPT !.state = "Aborted"], {})
=============================================================================
