-------------------------- MODULE MCGroupReplayAway --------------------------
(***************************************************************************)
(* As MCGroupReplay, with static members that leave for a while (G19) and   *)
(* are back.  Who leaves so keeps what it has, in an entry with the field   *)
(* away, which says a smaller epoch than any (ReleasedEpoch).               *)
(***************************************************************************)
EXTENDS MCGroupReplay

IsAway(n) == "away" \in DOMAIN LastEntry("Current", n)

(* What a member has is written anew, as it leaves for a while or is back.  *)
Restated(n) ==
  LET known == KnownOf(loader.entries, n)
      here == [offset |-> loader.endOffset, kind |-> "Current", member |-> n, exists |-> TRUE,
               epoch |-> NextEpoch(loader.entries), assigned |-> known.assigned]
      entry == IF IsAway(n) THEN here ELSE here @@ [away |-> TRUE]
      written == [loader EXCEPT !.entries = Append(@, entry), !.endOffset = @ + 1]
  IN IF \/ loader.leads /\ (loader.state # "Active" \/ loader.events # {})
        \/ ~known.known
     THEN {}
     ELSE Taking(IF loader.leads
                 THEN [Replayed(written, <<entry>>) EXCEPT !.position = written.endOffset]
                 ELSE written)

AwayNext ==
  \/ MCNext
  \/ \E n \in Members : Paid("writes", MaxWrites, Taken(Restated(n)))

AwaySpec == MCInit /\ [][AwayNext]_mcVars

(* What Kafka 4.4.0 asks, of this epoch as of any (Z187).                   *)
LargerEpoch(heldEpoch, epoch) == heldEpoch = Unknown \/ heldEpoch < epoch

LetsGoAnyway(epoch, shared) == TRUE
=============================================================================
