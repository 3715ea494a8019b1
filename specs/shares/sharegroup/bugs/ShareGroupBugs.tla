---------------------------- MODULE ShareGroupBugs ----------------------------
(* Known bugs, by the numbers of bugs.toml in the reference. Each operator  *)
(* of a bug has the name of the operator that it replaces, and the number.  *)
EXTENDS ShareGroupRules

(* Z450 (KAFKA-20742): a partition that is added to a topic begins at the   *)
(* latest offset (SH46).                                                    *)
Z450_FirstStart(row) == 0

(* Z451 (KAFKA-20910): altered offsets have the epoch of the state before   *)
(* (SH48).                                                                  *)
Z451_AlteredEpoch(row) == row.epoch

(* Z452 (Apache Kafka): a late request to initialize with an equal epoch is *)
(* accepted (SH35).                                                         *)
Z452_Initializes(stored, epoch) == epoch >= stored.stateEpoch

(* Z453 (Apache Kafka): a group that is deleted and made again begins with  *)
(* the same epochs (SH41, SH49).                                            *)
Z453_FirstEpoch(row) == 1
Z453_EpochAfterDelete(stored) == 0

(* Z454 (KAFKA-19204): a request to initialize that is lost is never made   *)
(* again (SH46).                                                            *)
Z454_RetriesInitialize(row) == FALSE

(* Z455 (KAFKA-18629): the state of a deleted group stays (SH49).           *)
Z455_DeletesState(row) == FALSE
=============================================================================
