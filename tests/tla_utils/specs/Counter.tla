------------------------------ MODULE Counter ------------------------------
(* A counter that goes up to Max, down by one, or from Max back to zero.      *)
EXTENDS Integers, TLC
CONSTANT Max
VARIABLES x, seen

Init == x = 0 /\ seen = [numbers |-> {0}, last |-> <<>>]

Remember == seen' = [numbers |-> seen.numbers \cup {x'}, last |-> <<x, x'>>]

Up == x < Max /\ x' = x + 1 /\ Remember
Down(k) == x - k >= 0 /\ x' = x - k /\ Remember
Wrap == x = Max /\ x' = 0 /\ Remember /\ PrintT(<<"wrapped at", x>>)
Next == Up \/ (\E k \in {1} : Down(k)) \/ Wrap

Climb == x < Max /\ x' = x + 1 /\ UNCHANGED seen
Fall == x > 0 /\ x' = x - 1 /\ UNCHANGED seen
Swing == Climb \/ Fall

Spec == Init /\ [][Next]_<<x, seen>>
LazyClimb == Init /\ [][Climb]_<<x, seen>>
FairClimb == LazyClimb /\ WF_<<x, seen>>(Climb)
FairSwing == Init /\ [][Swing]_<<x, seen>> /\ WF_<<x, seen>>(Swing)

NoState == Init /\ FALSE
TypeOK == x \in 0..Max
BelowMax == x < Max
NeverDown == [][x' >= x]_x
ReachesMax == <>(x = Max)
ReadsMissingField == IF x = 2 THEN seen.nowhere = 1 ELSE TRUE
=============================================================================
