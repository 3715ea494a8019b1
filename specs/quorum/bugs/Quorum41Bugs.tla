---------------------------- MODULE Quorum41Bugs -----------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS Quorum41

(* Z167: a leader adopts the high watermark of a fetch, even a lower or     *)
(* late one.                                                                *)
Z167_HighWatermarkAfterFetch(row, m) ==
  IF m.highWatermark = Undefined THEN row.highWatermark ELSE m.highWatermark
==============================================================================
