---------------------------- MODULE SessionInputs -----------------------------
(***************************************************************************)
(* Which inputs with fields may come, where every edge of a graph is        *)
(* driven: as `local` of reference/shares/sessions/protocol.py says.               *)
(***************************************************************************)
EXTENDS SessionHandlers

Inputs_AcknowledgeDelivery(n, row) ==
  {[type |-> "AcknowledgeDelivery", offset |-> o] : o \in OffsetsOf(row.held)}
=============================================================================
