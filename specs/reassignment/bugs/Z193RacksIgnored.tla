-------------------------- MODULE Z193RacksIgnored --------------------------
(* Z193 (mutant): the placer does not look at racks.                        *)
EXTENDS ReassignmentRules

Z193_TakesTurns(active, usable, taken, b) == TRUE
==============================================================================
