---------------------- MODULE Z167TakesOverHighWatermark ----------------------
(* Z167: a leader takes over the high watermark that a fetch tells it, be   *)
(* it lower or late.                                                        *)
EXTENDS Quorum41

Z167_HighWatermarkAfterFetch(row, m) ==
  IF m.highWatermark = Undefined THEN row.highWatermark ELSE m.highWatermark
===============================================================================
