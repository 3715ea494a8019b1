------------------------ MODULE Z112SecondFromOneBase ------------------------
(* Z112 (KAFKA-20661): a change whose record waits in the accumulator is not *)
(* seen by the next one, once its timer has run out.  Here what waits there  *)
(* is what the leader has not flushed: nobody can fetch either.              *)
EXTENDS VoterRules

SeenSets(row) == SelectSeq(row.history, LAMBDA set : set.offset < row.quorum.flushed)

Z112_ChangeRefused(row) ==
  CASE row.change # Undefined -> "REQUEST_TIMED_OUT"
    [] ~OwnEpochCommitted(row) -> "REQUEST_TIMED_OUT"
    [] LastOf(SeenSets(row)).offset >= MaxOf(row.quorum.highWatermark, 0) -> "REQUEST_TIMED_OUT"
    [] OTHER -> ""

Z112_ChangedVoters(row, node) ==
  LET voters == LastOf(SeenSets(row)).voters
  IN IF node \in voters THEN voters \ {node} ELSE voters \cup {node}
=============================================================================
