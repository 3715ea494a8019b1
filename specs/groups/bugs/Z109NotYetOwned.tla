--------------------------- MODULE Z109NotYetOwned ---------------------------
(* Z109 (Apache Kafka 4.3.1): a member says that it has what it has         *)
(* acknowledged, so what it is about to take is taken for revoked (G23).    *)
EXTENDS GroupRules

Z109_Report(row) == row.current
=============================================================================
