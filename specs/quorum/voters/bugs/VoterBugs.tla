------------------------------ MODULE VoterBugs ------------------------------
(* Known bugs, by their ids in bugs.toml of the reference. The name of a    *)
(* replacement has the ids of the bug and of the operator.                  *)
EXTENDS VoterRules

(* Z11 (KAFKA-16530): a leader that is no voter is counted for the high      *)
(* watermark as if it were one.                                              *)
Z11_CountsItself(n, row) == TRUE

(* Z17 (kraft.version 0): a voter is its id, whatever its disk has.          *)
Z17_MayReturnEmpty(row) == TRUE

(* Z19 (KIP-853): a second change is begun before the first is committed.   *)
Z19_ChangeRefused(row) ==
  IF OwnEpochCommitted(row) THEN "" ELSE "REQUEST_TIMED_OUT"

(* Z110 (Apache Kafka 4.3.1): a truncation takes sets out of the history,   *)
(* but what is appended there afterwards is not read: it lies below the end *)
(* that was reached before.                                                 *)
Z110_HistoryAfterTruncation(row, offset) ==
  [history |-> SelectSeq(row.history, LAMBDA set : set.offset < offset),
   historyEnd |-> row.historyEnd]

(* Z112 (KAFKA-20661): when the timer of a change whose record waits in the *)
(* accumulator has expired, the next change does not see it. Here the       *)
(* waiting records are the unflushed ones; nobody can fetch either.         *)
SeenSets(row) == SelectSeq(row.history, LAMBDA set : set.offset < row.flushed)

Z112_ChangeRefused(row) ==
  CASE row.change # Undefined -> "REQUEST_TIMED_OUT"
    [] ~OwnEpochCommitted(row) -> "REQUEST_TIMED_OUT"
    [] LastOf(SeenSets(row)).offset >= MaxOf(row.highWatermark, 0) -> "REQUEST_TIMED_OUT"
    [] OTHER -> ""

Z112_ChangedVoters(row, node) ==
  LET voters == LastOf(SeenSets(row)).voters
  IN IF node \in voters THEN voters \ {node} ELSE voters \cup {node}

(* Z113 (Apache Kafka 4.3.1): only the pending request makes a removed      *)
(* leader resign; when its timer has run out, the leader leads on.          *)
Z113_LeavesAfterRemoval(n, row) ==
  /\ row.change # Undefined
  /\ row.role = "Leader" /\ n \notin VotersOf(row) /\ LastSetCommitted(row)

(* Z114 (Ongaro, 2015): a leader changes the voters before a record of its  *)
(* own epoch is committed, from a set that another leader changes, too.     *)
Z114_ChangeRefused(row) ==
  LET last == LastOf(row.history).offset
  IN IF row.change # Undefined \/ (last # Undefined /\ last >= row.highWatermark)
     THEN "REQUEST_TIMED_OUT" ELSE ""

(* Z115 (mutant): a set is in force when it is known to be committed, and   *)
(* not when it is in the log.                                               *)
Z115_VotersOf(row) ==
  LET known == SelectSeq(row.history,
        LAMBDA set : set.offset < MaxOf(row.highWatermark, 0))
  IN LastOf(known).voters

(* Z116 (KAFKA-17332): an observer does not flush fetched records. As a     *)
(* voter it counts for records that it may lose.                            *)
Z116_FlushesAsObserver(row) ==
  FALSE

(* Z117 (Apache Kafka 4.3.1): check-quorum spares a leader where there is    *)
(* one voter, be that the leader or not.                                     *)
Z117_CheckQuorumBinds(n, row) == Cardinality(VotersOf(row)) # 1

(* Z123 (KAFKA-19850): a removed controller that still runs requests by     *)
(* itself to be a voter again.                                              *)
Z123_JoinsByItself(n, row) ==
  KraftVersionOf(row) = 1 /\ n \notin VotersOf(row)

(* Z190 (mutant): a new set has only the listeners that the requesting node *)
(* reports.                                                                 *)
Z190_MovedAfter(row, voters, told) == told \cap voters

(* Z191 (mutant): kraft.version is upgraded before every voter has reported *)
(* in the leader's epoch, so some directories are unknown.                  *)
Z191_EveryVoterHeard(n, row) == TRUE

(* Z192 (mutant): voters are added and removed under kraft.version 0, where*)
(* others read them from their configuration.                              *)
Z192_ChangesVoters(row) == TRUE

(* Z201: no leader writes the set of the bootstrap snapshot, and a node     *)
(* formatted without it never learns the set.                               *)
Z201_WritesBootstrapSet(row) == FALSE
==============================================================================
