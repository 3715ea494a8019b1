---------------------- MODULE Z160TwoChangesOfOneBase -----------------------
(* Z160 (Apache Kafka 4.3.1): a heartbeat unfences a broker and names a     *)
(* directory that has failed; both changes of a partition are computed from *)
(* what it was before.                                                      *)
EXTENDS ReassignmentRules

Z160_BaseOfSecond(before, first) == before
=============================================================================
