------------------------ MODULE Z31SameLeaderNotAsked ------------------------
(* Z31 (KAFKA-7164): a follower whose leader is the same as before does not *)
(* ask whether the logs diverge, although it missed an epoch.               *)
EXTENDS PartitionRules

Z31_LastFetchedOnBecomeFollower(row, partition) ==
  IF row.image.partition.leader = partition.leader THEN Undefined ELSE LastEpochOf(row.epochCache)
==============================================================================
