------------------------ MODULE Z304UsesLateResponse ------------------------
(* Z304 (Q22): a response counts if it answers a request of the kind that   *)
(* is in flight, though not the one that is.                                *)
EXTENDS QuorumRules

Z304_AnswersInFlight(row, m, inFlight) ==
  row.connections[m.source] = "Awaiting" /\ m.request.type = inFlight.type
=============================================================================
