----------------------------- MODULE VoterRules ------------------------------
(***************************************************************************)
(* Every decision about changes of the voters (KIP-853) that has a name.    *)
(* What a voter does under one set is decided in QuorumRules; here is       *)
(* decided which set that is, and who may change it.  The Python twin is    *)
(* reference/voters/rules.py.                                               *)
(*                                                                          *)
(* Rule ids (V11 ...) are those of docs/reconfiguration.md.                 *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS ReplicaLog

CONSTANTS
  Nodes,              \* every controller, voter or not
  FirstVoters,        \* who votes at first: the bootstrap set, at offset -1 (V12)
  FetchMaxRecords     \* as in QuorumRules

VotersRecord == -1    \* value of the control record that has a set of voters

(* The sets of the Voters records of a log, from an offset on.              *)
RECURSIVE SetsIn(_, _)
SetsIn(log, offset) ==
  IF offset >= Len(log) THEN <<>>
  ELSE LET entry == log[offset + 1]
       IN (IF entry.value = VotersRecord
           THEN <<[offset |-> offset, voters |-> entry.voters]>> ELSE <<>>)
            \o SetsIn(log, offset + 1)

LastOf(history) == history[Len(history)]

-----------------------------------------------------------------------------
(* The set in force: V10 to V13, V18.                                       *)

(* V11.  The last set of the log, committed or not.                         *)
VotersOf(row) == LastOf(row.history).voters

(* V11.  What the node's log has now has been read.                         *)
HistoryAfterAppend(row, quorum) ==
  [history |-> row.history \o SetsIn(quorum.log, row.historyEnd),
   historyEnd |-> MaxOf(row.historyEnd, EndOffset(quorum.log))]

(* V11.  Sets at or above the offset go, and what is appended there is read *)
(* again.                                                                   *)
HistoryAfterTruncation(row, offset) ==
  [history |-> SelectSeq(row.history, LAMBDA set : set.offset < offset),
   historyEnd |-> MinOf(row.historyEnd, offset)]

(* V13.  Who is no voter does not stand for election.                       *)
MayStand(n, row) == n \in VotersOf(row)

(* V20 (KAFKA-16530).  A leader that is no voter is not counted for the     *)
(* high watermark.                                                          *)
CountsItself(n, row) == n \in VotersOf(row)

(* V20.  A leader waits for no fetches if it is the only voter; one that is *)
(* no voter waits for those of voters, be it of one.                        *)
CheckQuorumBinds(n, row) == VotersOf(row) # {n}

(* V21 (KAFKA-17332).  Who may become a voter flushes what it fetches, as   *)
(* voters do: it may be counted as soon as it is one.                       *)
FlushesAsObserver(row) == TRUE

(* V10.  A voter is its id and the directory on its disk: who comes with an *)
(* empty disk has another directory, and so is not taken for it.            *)
MayReturnEmpty(row) == FALSE

-----------------------------------------------------------------------------
(* Changes: V14 to V20.                                                     *)

(* V14.  A record of the leader's own epoch is committed (Ongaro, 2015).    *)
OwnEpochCommitted(row) == row.quorum.highWatermark # Undefined

(* V14.  No set of the log is still to be committed.                        *)
LastSetCommitted(row) ==
  LastOf(row.history).offset < MaxOf(row.quorum.highWatermark, 0)

(* V14.  Why no change is begun now; empty: one may be.                     *)
ChangeRefused(row) ==
  CASE row.change # Undefined -> "REQUEST_TIMED_OUT"
    [] ~OwnEpochCommitted(row) -> "REQUEST_TIMED_OUT"
    [] ~LastSetCommitted(row) -> "REQUEST_TIMED_OUT"
    [] OTHER -> ""

(* V15.  The node was at the end of the leader's log in this epoch.         *)
IsCaughtUp(row, node) == node \in row.caughtUp

(* V15.                                                                     *)
AddRefused(row, node) ==
  CASE ChangeRefused(row) # "" -> ChangeRefused(row)
    [] node \in VotersOf(row) -> "DUPLICATE_VOTER"
    [] ~IsCaughtUp(row, node) -> "REQUEST_TIMED_OUT"
    [] OTHER -> ""

(* V16.                                                                     *)
RemoveRefused(row, node) ==
  CASE ChangeRefused(row) # "" -> ChangeRefused(row)
    [] node \notin VotersOf(row) \/ VotersOf(row) = {node} -> "VOTER_NOT_FOUND"
    [] OTHER -> ""

(* V15, V16.  One voter comes or goes.                                      *)
ChangedVoters(row, node) ==
  IF node \in VotersOf(row) THEN VotersOf(row) \ {node} ELSE VotersOf(row) \cup {node}

(* V20.  A leader that is no voter leads on until that is committed.        *)
LeavesAfterRemoval(n, row) ==
  row.quorum.role = "Leader" /\ n \notin VotersOf(row) /\ LastSetCommitted(row)
=============================================================================
