---------------------- MODULE Z301FutureRecoveredShort ----------------------
(* Z301 (Apache Kafka 4.3.1): a start takes a future log for the replica    *)
(* without a look at its end.                                               *)
EXTENDS HostingRules

Z301_RecoversFuture(row) == row.future = row.image.directory
=============================================================================
