---------------------------- MODULE ClassicNodes -----------------------------
(***************************************************************************)
(* The handlers as handlers of nodes that send each other messages. TLC     *)
(* judges recorded steps of the reference by this module, which defines     *)
(* nothing itself.                                                          *)
(***************************************************************************)
EXTENDS ClassicHandlers, ClassicMember, TLC
=============================================================================
