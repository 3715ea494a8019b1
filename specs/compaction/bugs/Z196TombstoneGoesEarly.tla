----------------------- MODULE Z196TombstoneGoesEarly ------------------------
(* Z196: a tombstone goes as soon as it may be cleaned (KAFKA-4545).        *)
EXTENDS CompactionRules

Z196_MayDropTombstone(row, at, expired) ==
  TRUE
==============================================================================
