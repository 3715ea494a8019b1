------------------------------- MODULE Rules -------------------------------
(* Decisions that a cfg overrides, used inside the module that defines them.  *)
EXTENDS Integers
CONSTANT Top

MayGrow(n) == n < Top
Grown(n) == IF MayGrow(n) THEN n + 1 ELSE n

BugMayGrow(n) == n < Top + 2
=============================================================================
