---------------------------- MODULE GroupPromises ----------------------------
(***************************************************************************)
(* All properties of groups together, for models that check all of them.    *)
(***************************************************************************)
EXTENDS GroupProperties, GroupReplayProperties, GroupOffsetsProperties,
        GroupMigrationProperties
=============================================================================
