--------------------- MODULE Z143RecoveryCountsAsFlush ----------------------
(* Z143 (KAFKA-10101): what was recovered counts as flushed.              *)
EXTENDS StorageRules

Z143_RecoveryPoint(checkpoint, end, clean) == end
=============================================================================
