------------------------------ MODULE Kafka43 -------------------------------
(***************************************************************************)
(* The quorum as Apache Kafka 4.3 runs it, where that is not what Quorum41   *)
(* says is right.  `kraftcheck conform --as kafka-4.3` judges by it.         *)
(*                                                                          *)
(* Its entries are in kafka-4.3.toml; most operators are KafkaQuorum's.     *)
(*                                                                          *)
(* Law of this file: as KafkaQuorum.                                        *)
(***************************************************************************)
EXTENDS Quorum41, KafkaQuorum

(* As Quorum41 has it; any receiver of a high watermark may be noted.       *)
Kafka_HandleFetchRequest(n, row, m) ==
  LET error == FetchRequestError(row, m)
      diverges == FetchDiverges(row, m)
      noted == NoteFetch(n, row, m, diverges)
      told == IF noted.highWatermark # row.highWatermark
              THEN AnsweredParked(n, noted, noted.parked, ServableEndOffset(noted))
              ELSE {[row |-> noted, sent |-> {}]}
      answered(each) ==
        IF FetchedRecords(each.row, m) # <<>> \/ KnowsLess(each.row, m)
        THEN Finish(n, row, each.row,
               each.sent \cup {Answer(each.row, m, ServableEndOffset(each.row))})
        ELSE Finish(n, row, [each.row EXCEPT !.parked = @ \cup {m}], each.sent)
  IN CASE error # "NONE" -> Finish(n, row, row, {FetchErrorResponse(row, m, error)})
       [] diverges ->
            Finish(n, row, noted,
              {FetchResponse(noted, m, "NONE", <<>>, DivergingEpoch(row, m),
                             noted.highWatermark)})
       [] OTHER -> UNION {answered(each) : each \in told}

Kafka_HandleFlush(n, row, input) == Flushes(n, row, Told)
=============================================================================
