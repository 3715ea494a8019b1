----------------------------- MODULE SessionBugs ------------------------------
(* Known bugs, by the numbers of bugs.toml in the reference. Each operator  *)
(* of a bug has the name of the operator that it replaces, and the number.  *)
EXTENDS SessionRules

(* Z440 (Apache Kafka): a broker handles a request whose connection is      *)
(* closed (SH29).                                                           *)
Z440_IsCurrent(session, closed, connection) == TRUE

(* Z441 (KAFKA-19950): the end of an old connection removes the new         *)
(* session (SH30).                                                          *)
Z441_EndsSession(session, connection) == TRUE

(* Z442 (KAFKA-18198): the first request of a session acknowledges (SH29).  *)
Z442_SendsAcks(row) == TRUE

(* Z443 (KAFKA-18016): acknowledgements that are made during a fetch are    *)
(* dropped with its response (SH52).                                        *)
Z443_AcksAfterResponse(row) == {}

(* Z444 (KAFKA-19485): the acknowledgements of a request that failed as a   *)
(* whole are not reported (SH53).                                           *)
Z444_FailsOnError(row) == FALSE

(* Z445 (KAFKA-18155): those of a request whose connection was lost are not *)
(* reported (SH53).                                                         *)
Z445_FailsOnDisconnect(row) == FALSE

(* Z446 (KAFKA-20330): a consumer that reconnects while no request is under *)
(* way keeps its session (SH30).                                            *)
Z446_EpochOnReconnect(row) == IF row.request = "None" THEN row.epoch ELSE 0
=============================================================================
