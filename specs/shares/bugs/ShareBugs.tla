----------------------------- MODULE ShareBugs -------------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS ShareRules

(* Z410 (Apache Kafka): the log start moves the start offset of a share     *)
(* partition, and not the window of its gaps (SH6).                         *)
Z410_MovedGap(row, start) == row.gap

(* Z411 (Apache Kafka): the start offset that a load resolves is not        *)
(* stored before records are handed out (SH4).                              *)
Z411_StoresResolvedStart(row) == FALSE

(* Z412 (Apache Kafka): the share coordinator stores the start offset of a  *)
(* write that arrives late (SH38).                                          *)
Z412_StoredStart(stored, write) == IF write.start = 0 THEN stored.start ELSE write.start

(* Z413 (Apache Kafka): a share partition that was replaced in its leader   *)
(* epoch still writes (SH36).                                               *)
Z413_WriteAccepted(stored, write) ==
  /\ write.stateEpoch >= stored.stateEpoch
  /\ write.leaderEpoch >= stored.leaderEpoch

(* Z414 (Apache Kafka): a former leader's write is refused, and the share   *)
(* partition that followed it is removed (SH34).                            *)
Z414_FencingRemoves(row, write) == TRUE

(* Z415 (Apache Kafka): a fetched batch is handed out from its base, also   *)
(* before the start offset (SH11).                                          *)
Z415_AcquirableFrom(row, base) == base

(* Z416 (Apache Kafka): a late acknowledgement before the start offset is   *)
(* answered without an error, and not stored (SH15).                        *)
Z416_Skips(row, offset) == offset < row.start

(* Z420 (KAFKA-18494): the gaps of a loaded state are never fetched (SH6).  *)
Z420_LoadedGap(row, holes) == 0

(* Z421 (KAFKA-19476): a lock that runs out during a write is forgotten     *)
(* when the write fails (SH21).                                             *)
Z421_ReleasesExpired(cell) == FALSE

(* Z422 (KAFKA-19476): a failed write revives a record that the log start   *)
(* has archived (SH20).                                                     *)
Z422_FinalStays(cell) == FALSE

(* Z423 (KAFKA-19476): a lock's timer that had begun releases an            *)
(* acknowledged record (SH22).                                              *)
Z423_LockReleases(cell) == cell.state \in {"Acquired", "Acknowledged"} /\ ~cell.moving

(* Z424 (KAFKA-19476): a lock that runs out during a failed write releases  *)
(* a record beyond the limit of deliveries (SH21).                          *)
Z424_RolledBack(count) == "Available"

(* Z425 (KAFKA-19953): the end of a session stops at the first record that  *)
(* another member holds (SH24).                                             *)
Z425_SessionReleases(row, member) ==
  {o \in 1 .. Records :
     \A p \in 1 .. o : LET c == row.cells[p] IN
       c.state = "Acquired" => ~c.moving /\ c.member = member}
  \cap {o \in 1 .. Records : row.cells[o].state = "Acquired"}

(* Z426 (KAFKA-19859): a record that is done before the log start sets the  *)
(* start offset back (SH25).                                                *)
Z426_AdvancedStart(row, passed) ==
  LET done == {o \in 1 .. row.start - 1 :
                row.cells[o].state \in Terminal /\ ~row.cells[o].moving /\ ~row.cells[o].final}
  IN IF done = {} THEN passed ELSE 1 + CHOOSE o \in done : \A p \in done : p <= o

(* Z427 (KAFKA-19555): records beyond the end are acquired when as many     *)
(* are in flight as may be (SH10).                                          *)
Z427_MayAcquire(row, offset) == TRUE

(* Z428 (KAFKA-17796): a read writes no record, so it fences nothing after  *)
(* a failover of the coordinator (SH40).                                    *)
Z428_ReadIsRecorded(stored, incarnation) == FALSE

(* Z430 (KAFKA-18618): a consumer acknowledges to the new leader what the   *)
(* former one handed out (SH56).                                            *)
Z430_ForgetsHeld(row, record, leaderEpoch) == FALSE

(* Z431 (a mutant): an acknowledgement is answered before it is stored      *)
(* (SH19).                                                                  *)
Z431_AnswerWaits(row) == FALSE

(* Z432 (a mutant): a consumer acknowledges a record that another one       *)
(* holds (SH15).                                                            *)
Z432_MayAcknowledge(cell, member) == cell.state = "Acquired" /\ ~cell.moving

(* Z433 (a mutant): a record is delivered without limit (SH18).             *)
Z433_Released(count) == "Available"

(* Z434 (a mutant): the start offset passes a record whose acknowledgement  *)
(* is in flight (SH25).                                                     *)
Z434_MayPass(cell) == cell.state \in Terminal

(* Z435 (a mutant): of two writes of a record the later one is stored,      *)
(* whatever its count (SH39).                                               *)
Z435_Wins(written, stored) == TRUE
=============================================================================
