----------------------------- MODULE VoterRules ------------------------------
(***************************************************************************)
(* Every named decision about voter changes (KIP-853). QuorumRules has a    *)
(* voter's decisions under one set. This module decides which set is in     *)
(* force, and when it may change. The Python twin is                        *)
(* reference/quorum/voters/rules.py.                                               *)
(*                                                                          *)
(* Rule ids (V11 ...) are those of docs/reference/protocol-rules.md.        *)
(*                                                                          *)
(* Law of this file: no property calls an operator of this file.            *)
(***************************************************************************)
EXTENDS ReplicaLog

CONSTANTS
  Nodes,              \* every controller, voter or not
  FirstVoters,        \* who votes at first: the bootstrap set, at offset -1 (V12)
  FetchMaxRecords,    \* as in QuorumRules
  KraftVersion,       \* 0 or 1: that of the bootstrap set (V23)
  AutoJoin,           \* controller.auto.join.enable (V24)
  ListenersChange,    \* a controller may come back with other listeners (V17)
  Unformatted         \* who was formatted without the bootstrap snapshot, and observes (V12)

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

(* V17.  Whom the set in force has with other listeners than at first.      *)
MovedOf(row) ==
  LET offset == LastOf(row.history).offset
  IN IF offset = Undefined THEN {} ELSE row.log[offset + 1].moved

(* V23.  The first set of a log that begins under version 0 comes with the   *)
(* record of version 1, in one batch.                                       *)
KraftVersionOf(row) ==
  IF KraftVersion = 0 /\ LastOf(row.history).offset = Undefined THEN 0 ELSE 1

(* If the set in force is that of the bootstrap snapshot, a new leader      *)
(* writes it, for nodes formatted without it (V22).                         *)
WritesBootstrapSet(row) == Unformatted # {} /\ LastOf(row.history).offset = Undefined

(* V11.  What the node's log has now has been read.                         *)
HistoryAfterAppend(row, after) ==
  [history |-> row.history \o SetsIn(after.log, row.historyEnd),
   historyEnd |-> MaxOf(row.historyEnd, EndOffset(after.log))]

(* V11.  Sets at or above the offset go, and what is appended there is read *)
(* again.                                                                   *)
HistoryAfterTruncation(row, offset) ==
  [history |-> SelectSeq(row.history, LAMBDA set : set.offset < offset),
   historyEnd |-> MinOf(row.historyEnd, offset)]

(* A node that is no voter does not stand for election (V13).               *)
MayStand(n, row) == n \in VotersOf(row)

(* V20 (KAFKA-16530).  A leader that is no voter is not counted for the     *)
(* high watermark.                                                          *)
CountsItself(n, row) == n \in VotersOf(row)

(* A leader waits for no fetches if it is the only voter. A leader that is  *)
(* no voter waits for the fetches of voters, even of a single one (V20).    *)
CheckQuorumBinds(n, row) == VotersOf(row) # {n}

(* A node that may become a voter flushes fetched records, as voters do,    *)
(* because it counts as soon as it is a voter (V21; KAFKA-17332).           *)
FlushesAsObserver(row) == TRUE

(* A voter is its id and the directory on its disk. A node with an empty    *)
(* disk has another directory, so it is not that voter (V10).               *)
MayReturnEmpty(row) == FALSE

-----------------------------------------------------------------------------
(* Changes: V14 to V20.                                                     *)

(* V14.  A record of the leader's own epoch is committed (Ongaro, 2015).    *)
OwnEpochCommitted(row) == row.highWatermark # Undefined

(* V14.  No set of the log is still to be committed.                        *)
LastSetCommitted(row) ==
  LastOf(row.history).offset < MaxOf(row.highWatermark, 0)

(* V14.  Why no change is begun now; empty: one may be.                     *)
ChangeRefused(row) ==
  CASE row.change # Undefined -> "REQUEST_TIMED_OUT"
    [] ~OwnEpochCommitted(row) -> "REQUEST_TIMED_OUT"
    [] ~LastSetCommitted(row) -> "REQUEST_TIMED_OUT"
    [] OTHER -> ""

(* V15.  The node was at the end of the leader's log in this epoch.         *)
IsCaughtUp(row, node) == node \in row.caughtUp

(* V14, V23.  Under kraft.version 0 voters are configured, and stay.        *)
ChangesVoters(row) == KraftVersionOf(row) > 0

(* V15.                                                                     *)
AddRefused(row, node) ==
  CASE ChangeRefused(row) # "" -> ChangeRefused(row)
    [] ~ChangesVoters(row) -> "UNSUPPORTED_VERSION"
    [] node \in VotersOf(row) -> "DUPLICATE_VOTER"
    [] ~IsCaughtUp(row, node) -> "REQUEST_TIMED_OUT"
    [] OTHER -> ""

(* V16.                                                                     *)
RemoveRefused(row, node) ==
  CASE ChangeRefused(row) # "" -> ChangeRefused(row)
    [] ~ChangesVoters(row) -> "UNSUPPORTED_VERSION"
    [] node \notin VotersOf(row) \/ VotersOf(row) = {node} -> "VOTER_NOT_FOUND"
    [] OTHER -> ""

(* V15, V16.  One voter comes or goes.                                      *)
ChangedVoters(row, node) ==
  IF node \in VotersOf(row) THEN VotersOf(row) \ {node} ELSE VotersOf(row) \cup {node}

(* The voters with other listeners in the new set: those of the present     *)
(* set, and one that reports it (V17).                                      *)
MovedAfter(row, voters, told) == (MovedOf(row) \cup told) \cap voters

(* V17.  Of a voter, about itself.                                          *)
UpdateRefused(row, node) ==
  CASE ChangeRefused(row) # "" -> ChangeRefused(row)
    [] node \notin VotersOf(row) -> "VOTER_NOT_FOUND"
    [] OTHER -> ""

(* Under kraft.version 0 a voter reports its listeners to each new leader.  *)
(* Under version 1 it reports only what the set in force lacks (V17).       *)
UpdatesVoter(n, row) ==
  /\ n \in VotersOf(row)
  /\ IF KraftVersionOf(row) = 0 THEN ~row.hasUpdatedLeader ELSE row.moved /\ n \notin MovedOf(row)

(* Every voter has reported to the leader in this epoch (V23).              *)
EveryVoterHeard(n, row) == VotersOf(row) \subseteq ({n} \cup {each.node : each \in row.heard})

(* V23.                                                                     *)
UpgradeRefused(n, row) ==
  IF KraftVersionOf(row) = 1 \/ ~EveryVoterHeard(n, row) THEN "INVALID_UPDATE_VERSION" ELSE ""

(* A node that is no voter requests to be one, unless it was removed (V24;  *)
(* KAFKA-19850: Kafka requests it nevertheless).                            *)
JoinsByItself(n, row) ==
  /\ KraftVersionOf(row) = 1
  /\ \A i \in DOMAIN row.history : n \notin row.history[i].voters

(* V20.  A leader that is no voter leads on until that is committed.        *)
LeavesAfterRemoval(n, row) ==
  row.role = "Leader" /\ n \notin VotersOf(row) /\ LastSetCommitted(row)
=============================================================================
