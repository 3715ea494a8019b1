------------------------------ MODULE Kafka40 -------------------------------
(***************************************************************************)
(* The quorum as Apache Kafka 4.0 runs it, where that is not what           *)
(* QuorumHandlers says is right.  `kraftcheck conform --as kafka-4.0` judges *)
(* by it; its entries are in kafka-4.0.toml.                                *)
(*                                                                          *)
(* Law of this file: as KafkaQuorum.                                        *)
(***************************************************************************)
EXTENDS KafkaQuorum

(* Before KIP-1166 only records end a wait.                                 *)
Kafka_HandleFlush(n, row, input) ==
  LET served(before, counted) == {m \in before.parked : FetchedRecords(counted, m) # <<>>}
  IN Flushes(n, row, served)

(* forgets-high-watermark: who resigns knows none any more.                 *)
Kafka_BecomeResigned(n, row, successors) ==
  [EnterRole(row, "Resigned", row.epoch, n, row.voted)
     EXCEPT !.unacked = Others(n), !.successors = successors,
            !.highWatermark = IF "forgets-high-watermark" \in Entries THEN Undefined ELSE @]
=============================================================================
