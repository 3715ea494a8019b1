----------------------- MODULE Z100OwnInstanceRefused ------------------------
(* Z100 (pull request 23542): a static member that joins while the group    *)
(* knows it is refused, also under its own id (G13).                        *)
EXTENDS GroupRules

Z100_JoinError(member) ==
  IF member.epoch = ReleasedEpoch THEN "NONE" ELSE "UNRELEASED_INSTANCE_ID"
=============================================================================
