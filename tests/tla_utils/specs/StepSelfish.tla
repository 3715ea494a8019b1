---------------------------- MODULE StepSelfish ----------------------------
(* A frame whose own assumption can be false, or not a truth value at all.    *)
CONSTANT Fine
ASSUME Fine
Allowed(step) == step.action = "Add"
=============================================================================
