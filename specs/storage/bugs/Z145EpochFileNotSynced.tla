----------------------- MODULE Z145EpochFileNotSynced -----------------------
(* Z145 (KAFKA-16541): the epoch file is not synced.                       *)
EXTENDS StorageRules

Z145_EpochFileSynced == FALSE
=============================================================================
