------------------------ MODULE Z102ExpiryFromCommit ------------------------
(* Z102: retention counts from the commit, also in a group that has just    *)
(* become empty (G35).                                                      *)
EXTENDS GroupRules

Z102_ExpiryBase(row, each) == each.time
=============================================================================
