----------------------- MODULE Z242AnyMarkerCommits -------------------------
(* Z242 (a mutant): a marker commits or drops the offsets of all producers  *)
(* (G32).                                                                   *)
EXTENDS GroupRules

Z242_OfMarker(row, marker) == row.pending
=============================================================================
