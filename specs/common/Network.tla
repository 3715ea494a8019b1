------------------------------ MODULE Network -------------------------------
(***************************************************************************)
(* The delivery guarantee, as one interface.                                *)
(*                                                                          *)
(* A message that was sent may be delivered at any later time, any number   *)
(* of times, in any order, or never: the network is a set that never        *)
(* forgets (L3).  Loss, duplication and reordering need no actions of their *)
(* own.  What it never does is change a message, deliver one to somebody    *)
(* else, or deliver one that nobody sent.  The provenance check of recorded *)
(* runs (traces) and the simulator's fault injector are tested against      *)
(* exactly this statement.                                                  *)
(*                                                                          *)
(* Messages are records with at least type, source and destination.         *)
(***************************************************************************)

EmptyNetwork == {}

Deliverable(network, node, type) ==
  {m \in network : m.destination = node /\ m.type = type}

WithSent(network, messages) == network \cup messages
=============================================================================
