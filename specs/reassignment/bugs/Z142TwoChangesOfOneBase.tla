---------------------- MODULE Z142TwoChangesOfOneBase -----------------------
(* Z142 (Apache Kafka 4.3.1): a heartbeat unfences a broker and names a     *)
(* directory that has failed; both changes of a partition are computed from *)
(* what it was before.                                                      *)
EXTENDS ReassignmentRules

Z142_BaseOfSecond(before, first) == before
=============================================================================
