------------------------ MODULE T01ForgottenDecision ------------------------
(* T01: a coordinator that comes back gives up, whatever it had decided.    *)
EXTENDS TwoPhase

T01_OnRecovery(row) == "Abort"
=============================================================================
