---------------------------- MODULE Quorum41Bugs -----------------------------
(* Known bugs, by the numbers of bugs.toml in the reference: what each of   *)
(* them puts in the place of an operator is named after both.               *)
EXTENDS Quorum41

(* Z167: a leader takes over the high watermark that a fetch tells it, be   *)
(* it lower or late.                                                        *)
Z167_HighWatermarkAfterFetch(row, m) ==
  IF m.highWatermark = Undefined THEN row.highWatermark ELSE m.highWatermark
==============================================================================
