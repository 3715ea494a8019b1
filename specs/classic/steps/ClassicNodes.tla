---------------------------- MODULE ClassicNodes -----------------------------
(***************************************************************************)
(* The handlers as those of nodes that send each other messages: what       *)
(* recorded steps of the reference are judged by.  Nothing is said here.    *)
(***************************************************************************)
EXTENDS ClassicHandlers, ClassicMember, TLC
=============================================================================
