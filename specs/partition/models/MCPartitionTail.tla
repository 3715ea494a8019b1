--------------------------- MODULE MCPartitionTail ---------------------------
(***************************************************************************)
(* A partition with clean elections is a TailLog: what the state machine on *)
(* its leader may count on, for any elected replica (transactions,          *)
(* groups, classic and commits have a coordinator on such a log).           *)
(*                                                                          *)
(* `tail` is the TailLog of a partition, made from its rows:                *)
(*   committed  the last record below the high watermark, when that last    *)
(*              came to the end of the leader's log                         *)
(*   leader     what the log of the leader has after it                     *)
(*   tails      what any leader had there since; no history of the          *)
(*              partition shows which replica still has it                  *)
(* The leader is the broker that last took up a larger epoch (its           *)
(* coordinator loads then), not the one that the controller has chosen.     *)
(* Each step of the partition must be one of TailLog or LoadedLog, an       *)
(* append with its commit, an election with its commit, or none.            *)
(*                                                                          *)
(* A leader that was deposed and has not heard of it may append: what it    *)
(* appends is a tail if it may still be elected.  That is an append from    *)
(* before the election, for nothing has been committed since                *)
(* (DeposedIsNotElected).                                                   *)
(***************************************************************************)
EXTENDS MCPartitionReduced

VARIABLES
  tail,      \* the TailLog, of values
  covered,   \* the records up to tail.committed
  leading    \* [broker, epoch, since]: who leads; the epoch of the last commit

tailVars == <<mcVars, tail, covered, leading>>

T == INSTANCE LoadedLog

NoRecord == 0

Values(log) == [i \in 1..Len(log) |-> log[i].value]

(* The records of a log after `records`, if it has these.                   *)
Lost == <<NoRecord>>
Behind(log, records) ==
  IF IsPrefixOf(records, log) THEN Values(SubSeq(log, Len(records) + 1, Len(log))) ELSE Lost

MayBeElected(n) == n \in controller'.partition.isr \cup controller'.partition.elr

-----------------------------------------------------------------------------
(* The TailLog of the next state.                                           *)

NextLeader ==
  LET newer == {n \in Brokers : IsLeader(rows'[n]) /\ rows'[n].leaderEpoch > leading.epoch}
  IN IF newer = {} THEN leading
     ELSE LET n == CHOOSE n \in newer : TRUE
          IN [leading EXCEPT !.broker = n, !.epoch = rows'[n].leaderEpoch]

(* The high watermark came to the end of the log in this step, or was there *)
(* when the leader took over.                                               *)
IsFound(row) == row.highWatermark = EndOffset(row.log)
IsCommitted(before, after) == IsFound(after) /\ after.highWatermark > before.highWatermark

(* For a twin: the one is taken for the other.                              *)
IsAtEnd(before, after) == IsFound(after) /\ after.log # <<>>

Appenders == {n \in Brokers : IsLeader(rows[n]) /\ Len(rows'[n].log) > Len(rows[n].log)}

TailNext ==
  LET next == NextLeader
      row == rows'[next.broker]
      leads == IsLeader(row) /\ row.leaderEpoch = next.epoch
      late == {n \in Appenders \ {next.broker} : MayBeElected(n)}
      behind == IF leads THEN Behind(row.log, covered) ELSE tail.leader
      moved == [tail EXCEPT
                  !.leader = behind,
                  !.tails = @ \cup {Behind(rows'[n].log, covered) : n \in late}
                              \cup IF next.broker \in Appenders THEN {behind} ELSE {}]
      commits == leads /\ IsCommitted(rows[next.broker], row)
      finds == leads /\ IsFound(row)
  IN /\ covered' = IF commits \/ finds THEN row.log ELSE covered
     /\ tail' = CASE commits -> T!WithCommitted(moved)
                  [] finds -> T!WithFound(moved)
                  [] OTHER -> moved
     /\ leading' = IF commits THEN [next EXCEPT !.since = next.epoch] ELSE next

TailInit ==
  /\ MCInit
  /\ tail = T!InitialTailLog(NoRecord)
  /\ covered = <<>>
  /\ leading = [broker |-> controller.partition.leader, since |-> 0,
                epoch |-> controller.partition.leaderEpoch]

TailSpec == TailInit /\ [][MCNext /\ TailNext]_tailVars

-----------------------------------------------------------------------------
(* The refinement.                                                          *)

Appends(log) == {T!WithAppended(log, <<value>>) : value \in 1..MaxRecords}
LateAppends(log) ==
  {[log EXCEPT !.tails = @ \cup {Append(t, value)}] : t \in log.tails, value \in 1..MaxRecords}
Elections(log) == {T!WithLeader(log, t) : t \in log.tails}
Commits(log) == {T!WithCommitted(log), T!WithFound(log)}

StepsOf(log) ==
  LET begun == Appends(log) \cup Elections(log)
  IN begun \cup LateAppends(log) \cup Commits(log) \cup UNION {Commits(l) : l \in begun}

TailLogRefined == [][tail' \in StepsOf(tail)]_tail

(* Any replica that may be elected has a log that a TailLog may elect.      *)
TailsOfCandidates ==
  \A n \in controller.partition.isr \cup controller.partition.elr :
    IsRunning(n) => Behind(rows[n].log, covered) \in tail.tails

DeposedIsNotElected ==
  \A n \in controller.partition.isr \cup controller.partition.elr :
    IsLeader(rows[n]) => rows[n].leaderEpoch >= leading.since

-----------------------------------------------------------------------------
(* What must be reached.                                                    *)

(* A record is committed that another leader appended.                      *)
NoInheritedCommitProbe ==
  [][tail'.committed # tail.committed => covered'[Len(covered')].epoch = leading'.epoch]_tailVars

(* One is elected whose tail the leader before it did not have.             *)
NoUnseenTailProbe ==
  [][leading'.broker = leading.broker \/ T!LastOf(tail') = NoRecord
     \/ IsPrefixOf(tail'.leader, tail.leader)]_tailVars

NoLateAppendProbe == [][Appenders \subseteq {leading'.broker}]_tailVars

=============================================================================
