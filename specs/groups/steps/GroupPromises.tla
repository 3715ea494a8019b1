---------------------------- MODULE GroupPromises ----------------------------
(***************************************************************************)
(* All that is promised of a group, for who asks of all.  Nothing is said   *)
(* here.                                                                    *)
(***************************************************************************)
EXTENDS GroupProperties, GroupReplayProperties, GroupOffsetsProperties,
        GroupMigrationProperties
=============================================================================
