----------------------- MODULE Z139OfflineNotForgotten -----------------------
(* Z139 (Apache Kafka 4.3.1): a removed replica whose directory has failed  *)
(* stays hosted.                                                            *)
EXTENDS HostingRules

Z139_ForgetsOffline(row) ==
  FALSE
==============================================================================
