----------------------------- MODULE L01NoFence -----------------------------
(* L01: the resource does not look at the token of a write.                 *)
EXTENDS Lease

L01_MayWrite(row, m) == TRUE
=============================================================================
