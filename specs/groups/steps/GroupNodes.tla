----------------------------- MODULE GroupNodes ------------------------------
(***************************************************************************)
(* The handlers as those of nodes that send each other messages: what       *)
(* recorded steps of the reference are judged by.  Nothing is said here.    *)
(***************************************************************************)
EXTENDS GroupHandlers, MembershipClient, GroupReplay, GroupOffsets,
        GroupMigration, TLC
=============================================================================
