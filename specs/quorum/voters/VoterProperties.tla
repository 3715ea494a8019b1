-------------------------- MODULE VoterProperties ---------------------------
(***************************************************************************)
(* Named properties of voter changes. The properties of logs and leaders    *)
(* are those of the quorum, for all nodes. The properties of majorities are *)
(* defined here, because there is more than one voter set.                  *)
(*                                                                          *)
(* Law of this file: no operator of VoterRules or QuorumRules is used.      *)
(* Definitions of this file read the voter sets from logs.                  *)
(***************************************************************************)
EXTENDS VoterChanges

VARIABLES
  rows,        \* rows[n]: the whole state of controller n
  committed    \* the longest prefix that any leader's high watermark covered

Quorum == INSTANCE QuorumProperties WITH
  Voters <- Nodes, network <- {}, ballots <- <<>>, appended <- {}

(* A leader may resign in the step in which it commits (V20).               *)
CommittedAfter(old, newRows) ==
  LET ahead == {n \in Nodes : /\ newRows[n].role \in {"Leader", "Resigned"}
                              /\ newRows[n].highWatermark > Len(old)}
  IN IF ahead = {} THEN old
     ELSE LET n == CHOOSE n \in ahead : TRUE
          IN Prefix(newRows[n].log, newRows[n].highWatermark)

(* The voter sets of a log: the bootstrap set, then the sets of its         *)
(* records.                                                                 *)
SetsOf(log) ==
  LET places == SelectSeq([i \in 1..Len(log) |-> i], LAMBDA i : log[i].value = VotersRecord)
      read == [i \in 1..Len(places) |->
                 [offset |-> places[i] - 1, voters |-> log[places[i]].voters]]
  IN <<[offset |-> Undefined, voters |-> FirstVoters]>> \o read

LastVoters(log) == LET sets == SetsOf(log) IN sets[Len(sets)].voters

IsMajorityOf(nodes, voters) == 2 * Cardinality(nodes \cap voters) > Cardinality(voters)

(* An update of a voter, and an upgrade, do not change the voters (V17,     *)
(* V23).                                                                    *)
DifferByOne(a, b) == Cardinality((a \ b) \cup (b \ a)) <= 1

Adjacent(sets) == \A i \in 1..(Len(sets) - 1) : DifferByOne(sets[i].voters, sets[i + 1].voters)

-----------------------------------------------------------------------------
(* Properties of the quorum.                                                *)

NoIllegalState == Quorum!NoIllegalState
ElectionSafety == Quorum!ElectionSafety
LogMatching == Quorum!LogMatching
LogMatchingCommitted == Quorum!LogMatchingCommitted
LeaderCompleteness == Quorum!LeaderCompleteness
EpochCacheSound == Quorum!EpochCacheSound

-----------------------------------------------------------------------------
(* Voter sets.                                                              *)

(* Consecutive voter sets of a log differ by at most one voter. The set     *)
(* that comes with kraft.version 1 equals the bootstrap set. Misses: the    *)
(* wrong voter, and a change without a record.                              *)
AdjacentSets ==
  \A n \in Nodes :
    LET sets == SetsOf(rows[n].log)
    IN Adjacent(sets) /\ (KraftVersion = 0 /\ Len(sets) > 1 => sets[2].voters = FirstVoters)

(* A leader's log has at most one uncommitted voter set. Misses: logs of    *)
(* nodes that do not lead, and changes that are each committed but too      *)
(* fast.                                                                    *)
OneChangeAtATime ==
  \A n \in Nodes :
    rows[n].role = "Leader" =>
      Cardinality({i \in 1..Len(rows[n].log) :
                     /\ i > MaxOf(Len(committed), rows[n].highWatermark)
                     /\ rows[n].log[i].value = VotersRecord}) <= 1

(* A node formatted without the bootstrap snapshot does not know its set.   *)
KnownTo(n, sets) ==
  IF n \in Unformatted /\ sets # <<>> /\ sets[1].offset = Undefined
  THEN [sets EXCEPT ![1].voters = {}] ELSE sets

(* A running node knows exactly the voter sets of its log. Misses: a log    *)
(* with wrong sets.                                                         *)
HistorySound ==
  \A n \in Nodes : Running(rows[n]) => rows[n].history = KnownTo(n, SetsOf(rows[n].log))

(* A node whose log has more than the first records of leaders knows a      *)
(* voter set (V22). Misses: a set that is not the one of the bootstrap      *)
(* snapshot.                                                                *)
VotersAreKnown ==
  \A n \in Nodes :
    (Running(rows[n]) /\ \E i \in DOMAIN rows[n].log :
                          rows[n].log[i].value # LeaderChange)
      => rows[n].history[Len(rows[n].history)].voters # {}

(* All nodes know the same committed voter sets, up to their high           *)
(* watermarks. Misses: sets above the high watermarks, and stopped nodes.   *)
CommittedSetsOneLine ==
  LET line == SetsOf(committed)
      known(n) == SelectSeq(rows[n].history,
                    LAMBDA set : set.offset < MaxOf(rows[n].highWatermark, 0))
  IN \A n \in Nodes :
       LET k == known(n) IN
       Running(rows[n]) =>
         k = KnownTo(n, SelectSeq(line,
               LAMBDA s : s.offset < MaxOf(rows[n].highWatermark, 0)))

(* The comparison of logs in elections, as in QuorumRules.                  *)
LogOf(n) == rows[n].log
EpochOf(log) == IF log = <<>> THEN 0 ELSE log[Len(log)].epoch
AtLeastAsLong(a, b) ==
  \/ EpochOf(a) > EpochOf(b)
  \/ EpochOf(a) = EpochOf(b) /\ Len(a) >= Len(b)

(* The nodes that could vote for m: voters of m's set whose logs are not    *)
(* longer than m's.                                                         *)
KnownVoters(m) == rows[m].history[Len(rows[m].history)].voters
Supporters(m) == {q \in KnownVoters(m) : AtLeastAsLong(LogOf(m), LogOf(q))}

(* No two nodes could win elections with disjoint majorities. (Each needs a *)
(* majority of supporters, and both together need the sum.) Misses:         *)
(* majorities that share a node that has forgotten its vote; possible votes *)
(* are checked, not actual ones.                                            *)
NoDisjointMajorities ==
  \A m, n \in Nodes :
    LET needed(k) == Cardinality(KnownVoters(k)) \div 2 + 1
    IN (/\ Running(rows[m]) /\ Running(rows[n])
        /\ m \in KnownVoters(m) /\ n \in KnownVoters(n))
         => ~(/\ Cardinality(Supporters(m)) >= needed(m)
              /\ Cardinality(Supporters(n)) >= needed(n)
              /\ Cardinality(Supporters(m) \cup Supporters(n)) >= needed(m) + needed(n))

(* Everything committed is on the disks of a majority of the last committed *)
(* set, or of a set that some log has after it. Misses: records             *)
(* acknowledged without a high watermark, and the majority that a future    *)
(* leader will need.                                                        *)
CommittedSurvives ==
  LET holders == {v \in Nodes : /\ rows[v].flushed >= Len(committed)
                                /\ IsPrefixOf(committed, LogOf(v))}
  IN \/ IsMajorityOf(holders, LastVoters(committed))
     \/ \E n \in Nodes : /\ IsPrefixOf(committed, LogOf(n))
                         /\ IsMajorityOf(holders, LastVoters(LogOf(n)))

(* A node has on disk everything for which a leader counts it. Misses: a    *)
(* node in a later epoch than the leader.                                   *)
WouldBeVoterFlushed ==
  \A l, n \in Nodes :
    (rows[l].role = "Leader" /\ rows[n].epoch <= rows[l].epoch)
      => rows[l].endOffsets[n] <= rows[n].flushed

(* A leader is in the last voter set that it knows to be committed, or in   *)
(* the last set of its log. Misses: a leader that resigns too early, or has *)
(* committed nothing.                                                       *)
RemovedLeaderResigns ==
  \A n \in Nodes :
    (rows[n].role = "Leader" /\ rows[n].highWatermark > 0)
      => \/ n \in LastVoters(Prefix(LogOf(n), rows[n].highWatermark))
         \/ n \in LastVoters(LogOf(n))

(* Listeners that a voter has reported in a set stay in the later sets      *)
(* while it is a voter. Misses: a voter that never reports, or leaves and   *)
(* comes back.                                                              *)
UpdatesStay ==
  \A n \in Nodes :
    LET log == rows[n].log
        places == SelectSeq([i \in 1..Len(log) |-> i], LAMBDA i : log[i].value = VotersRecord)
    IN \A i \in 1..(Len(places) - 1) :
         (log[places[i]].moved \cap log[places[i + 1]].voters) \subseteq log[places[i + 1]].moved

(* A node that requests by itself to be a voter was not a voter before.     *)
(* Misses: a late request, and one of an administrator.                     *)
RemovedStaysOut ==
  \A n \in Nodes :
    rows[n].asks = "AddVoter" =>
      LET sets == SetsOf(rows[n].log) IN \A i \in DOMAIN sets : n \notin sets[i].voters

-----------------------------------------------------------------------------
(* Safety of single steps.                                                  *)

(* A leader begins a change only after all sets and a record of its epoch   *)
(* are committed. The node to add was at the end of the leader's log. The   *)
(* leader has a report of every voter of the set that comes with            *)
(* kraft.version 1. Misses: a voter that lags right after, and a            *)
(* change that is wrongly refused.                                          *)
NoIllegalJoinStep ==
  \A n \in Nodes :
    LET before == rows[n]
        log == rows'[n].log
        begins == /\ before.role = "Leader" /\ rows'[n].role = "Leader"
                  /\ Len(log) > Len(before.log)
                  /\ log[Len(log)].value = VotersRecord
        changes == begins /\ log[Len(log)].voters # LastVoters(before.log)
        upgrades == begins /\ KraftVersion = 0 /\ Len(SetsOf(before.log)) = 1
    IN /\ upgrades => FirstVoters \subseteq ({n} \cup {each.node : each \in before.heard})
       /\ changes =>
         /\ before.highWatermark > before.epochStart
         /\ LET sets == SetsOf(before.log)
            IN /\ sets[Len(sets)].offset < before.highWatermark
               /\ log[Len(log)].voters \ sets[Len(sets)].voters \subseteq before.caughtUp
=============================================================================
