----------------------------- MODULE StepLedger -----------------------------
(* The frame in which recorded ledger steps are judged.                       *)
EXTENDS LedgerRules

Outcomes(step) ==
  CASE step.action = "Add" -> Add(step.before, step.input.amount)
    [] step.action = "Toggle" -> Toggle(step.before)
    [] step.action = "Guess" -> Guess(step.before)

Allowed(step) == [after |-> step.after, sent |-> step.sent] \in Outcomes(step)
=============================================================================
