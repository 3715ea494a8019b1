------------------------------ MODULE Counter ------------------------------
(* A counter that goes up to Max and may go down or back to zero.            *)
EXTENDS Integers, TLC
CONSTANT Max
VARIABLES x, seen

Init == x = 0 /\ seen = [numbers |-> {0}, last |-> <<>>]

Up == x < Max /\ x' = x + 1
Down(k) == x - k >= 0 /\ x' = x - k
Wrap == x = Max /\ x' = 0 /\ PrintT(<<"wrapped at", x>>)

Remember == seen' = [numbers |-> seen.numbers \cup {x'}, last |-> <<x, x'>>]

Next == (Up /\ Remember) \/ (\E k \in {1} : Down(k) /\ Remember) \/ (Wrap /\ Remember)
UpOnly == Up /\ UNCHANGED seen
Flip == UNCHANGED seen /\ (Up \/ Down(1))

Spec == Init /\ [][Next]_<<x, seen>>
FairFlip == Init /\ [][Flip]_<<x, seen>> /\ WF_<<x, seen>>(Flip)
IdleUp == Init /\ [][UpOnly]_<<x, seen>>
FairUp == IdleUp /\ WF_<<x, seen>>(UpOnly)

TypeOK == x \in 0..Max
BelowMax == x < Max
NeverDown == [][x' >= x]_x
ReachesMax == <>(x = Max)
NoState == Init /\ FALSE

ReadsMissingField == IF x = 2 THEN seen.nowhere = 1 ELSE TRUE
Doubling == x \in Nat
----
Limit(n) == n < Max
Guarded == x' = x + 1 /\ Limit(x)
BugLimit(n) == n < Max + 2
=============================================================================
