---------------------------- MODULE ClassicRules -----------------------------
(***************************************************************************)
(* Every decision of groups of the classic protocol that has a name: of the *)
(* coordinator, of members, and of the assignor that one of them runs; no   *)
(* messages sent, no variables.  A bug is one of these operators replaced   *)
(* (bugs, `Op <- [ClassicRules] BugOp`).                                    *)
(*                                                                          *)
(* Rule ids (G37 ...) are those of docs/reference/protocol-rules.md.        *)
(*                                                                          *)
(* Law of this file: no property calls an operator of it, or else replacing *)
(* the operator would change the property with it.                          *)
(***************************************************************************)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS
  Members,       \* the consumers that may be members
  Partitions,    \* of the topics that all of them subscribe to
  Cooperative    \* whether only what moves is revoked (KIP-429), or all

Nobody == -1         \* no leader
NoGeneration == -1   \* of who is no member

-----------------------------------------------------------------------------
(* Coordinator.                                                             *)

(* G38.                                                                     *)
NextGeneration(generation) == generation + 1

(* A member reports other metadata than when it joined (G38).               *)
ChangesMetadata(member, m) == m.owned # member.owned \/ m.claimed # member.claimed

(* A member joins again in a generation that all have joined: all must join *)
(* again. Otherwise it receives this generation again (G38).                *)
BeginsRebalance(row, m) ==
  CASE row.state = "Completing" -> ChangesMetadata(row.members[m.source], m)
    [] row.state = "Stable" ->
         m.source = row.leader \/ ChangesMetadata(row.members[m.source], m)
    [] OTHER -> TRUE

(* A member that has not joined, or not requested its assignment, in time   *)
(* (G38, G39).                                                              *)
IsRebalanceLate(state, member) ==
  member.known /\ CASE state = "Preparing" -> ~member.joined
                    [] state = "Completing" -> ~member.syncing
                    [] OTHER -> FALSE

(* An assignment is returned when it is committed. A heartbeat is answered  *)
(* when everything that it read is committed (G3, G39).                     *)
IsTold(row) == row.log.leader = <<>>

(* G49.  A group that is loaded: all of them have what was recorded last.   *)
LoadedState(image) == IF \E n \in Members : image.members[n].known THEN "Stable" ELSE "Empty"

-----------------------------------------------------------------------------
(* Assignor (G44).  A claim: of a member, what it owns, and the generation  *)
(* that it was in.                                                          *)

ClaimsOf(claims, p) == {c \in claims : p \in c.owned}

(* If several members claim a partition, the one with the largest           *)
(* generation owns it. If two have the same generation, both own it, and    *)
(* nobody receives it before both have given it up (KAFKA-12984,            *)
(* KAFKA-14639).                                                            *)
OwnersByClaim(claims, p) ==
  {c.member : c \in {c \in ClaimsOf(claims, p) :
                       \A d \in ClaimsOf(claims, p) : d.generation <= c.generation}}

(* The partitions that would change hands.                                  *)
Moved(claims, owner) ==
  {p \in Partitions : OwnersByClaim(claims, p) # {} /\ owner[p] \notin OwnersByClaim(claims, p)}

IsBalanced(claims, owner) ==
  LET share(n) == Cardinality({p \in Partitions : owner[p] = n}) IN
  \A c, d \in claims : share(c.member) <= share(d.member) + 1

(* Sticky: of the balanced ones, one that moves the fewest.                 *)
Targets(claims) ==
  LET balanced == {owner \in [Partitions -> {c.member : c \in claims}] :
                     IsBalanced(claims, owner)}
  IN {owner \in balanced :
        \A other \in balanced :
          Cardinality(Moved(claims, owner)) <= Cardinality(Moved(claims, other))}

(* G44.  In the first round a partition that another one owns is withheld.  *)
IsWithheld(claims, n, p) == Cooperative /\ OwnersByClaim(claims, p) \ {n} # {}

-----------------------------------------------------------------------------
(* Member.                                                                  *)

(* G43, G44.  What a member has while it joins.                             *)
OwnedWhileJoining(owned) == IF Cooperative THEN owned ELSE {}

(* G42.  A member that is none any more, or not of this generation.         *)
OwnedAfterReset(owned) == {}

(* The generation that a member reports for its partitions is the last one  *)
(* that it joined (G44).                                                    *)
ClaimedGeneration(row) == row.generation

(* A member that has given something up joins again, so that others receive *)
(* it (G44).                                                                *)
JoinsAgain(owned, assigned) == Cooperative /\ owned \ assigned # {}

(* A response counts only for the request in flight.                        *)
IsAwaited(row, m) == row.awaiting /\ m.correlation = row.correlation
=============================================================================
