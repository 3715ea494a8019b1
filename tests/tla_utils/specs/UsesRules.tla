----------------------------- MODULE UsesRules -----------------------------
(* Reaches the rules through an unqualified INSTANCE that substitutes for a   *)
(* constant: there TLC ignores an override without the defining module.       *)
EXTENDS Integers
VARIABLE n

Top == 3
INSTANCE Rules

Init == n = 0
Next == n' = Grown(n)
=============================================================================
