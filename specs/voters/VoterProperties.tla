-------------------------- MODULE VoterProperties ---------------------------
(***************************************************************************)
(* What changes of the voters promise, as named properties.  Those of a log *)
(* and its leaders are the quorum's own, of all nodes; those that speak of  *)
(* a majority are said anew, for there is more than one set.                *)
(*                                                                          *)
(* Law of this file: no operator of VoterRules or QuorumRules is used, so   *)
(* the sets are read from logs by definitions of this file.                 *)
(***************************************************************************)
EXTENDS VoterChanges

VARIABLES
  rows,        \* rows[n]: the whole state of controller n
  committed    \* the longest prefix that any leader's high watermark covered

Quorum == INSTANCE QuorumProperties WITH
  Voters <- Nodes, rows <- [n \in Nodes |-> rows[n].quorum],
  network <- {}, ballots <- <<>>, appended <- {}

(* A leader may resign with what it has just committed (V20).               *)
CommittedAfter(old, newRows) ==
  LET ahead == {n \in Nodes : /\ newRows[n].quorum.role \in {"Leader", "Resigned"}
                              /\ newRows[n].quorum.highWatermark > Len(old)}
  IN IF ahead = {} THEN old
     ELSE LET n == CHOOSE n \in ahead : TRUE
          IN Prefix(newRows[n].quorum.log, newRows[n].quorum.highWatermark)

(* The sets of a log: the bootstrap set, then those of its records.         *)
SetsOf(log) ==
  LET places == SelectSeq([i \in 1..Len(log) |-> i], LAMBDA i : log[i].value = VotersRecord)
      read == [i \in 1..Len(places) |->
                 [offset |-> places[i] - 1, voters |-> log[places[i]].voters]]
  IN <<[offset |-> Undefined, voters |-> FirstVoters]>> \o read

LastVoters(log) == LET sets == SetsOf(log) IN sets[Len(sets)].voters

IsMajorityOf(nodes, voters) == 2 * Cardinality(nodes \cap voters) > Cardinality(voters)

(* V17, V23.  Who updates itself, and an upgrade, leave the voters as they  *)
(* are.                                                                     *)
DifferByOne(a, b) == Cardinality((a \ b) \cup (b \ a)) <= 1

Adjacent(sets) == \A i \in 1..(Len(sets) - 1) : DifferByOne(sets[i].voters, sets[i + 1].voters)

-----------------------------------------------------------------------------
(* The quorum's own.                                                        *)

NoIllegalState == Quorum!NoIllegalState
ElectionSafety == Quorum!ElectionSafety
LogMatching == Quorum!LogMatching
LogMatchingCommitted == Quorum!LogMatchingCommitted
LeaderCompleteness == Quorum!LeaderCompleteness
EpochCacheSound == Quorum!EpochCacheSound

-----------------------------------------------------------------------------
(* Sets.                                                                    *)

(* Every log changes one voter at a time, and none before kraft.version 1:   *)
(* the set that comes with it is the bootstrap set.                         *)
AdjacentSets ==
  \A n \in Nodes :
    LET sets == SetsOf(rows[n].quorum.log)
    IN Adjacent(sets) /\ (KraftVersion = 0 /\ Len(sets) > 1 => sets[2].voters = FirstVoters)

(* A leader has at most one set in its log that is not committed.           *)
OneChangeAtATime ==
  \A n \in Nodes :
    rows[n].quorum.role = "Leader" =>
      Cardinality({i \in 1..Len(rows[n].quorum.log) :
                     /\ i > MaxOf(Len(committed), rows[n].quorum.highWatermark)
                     /\ rows[n].quorum.log[i].value = VotersRecord}) <= 1

(* Who was formatted without the bootstrap snapshot does not know its set.  *)
KnownTo(n, sets) ==
  IF n \in Unformatted /\ sets # <<>> /\ sets[1].offset = Undefined
  THEN [sets EXCEPT ![1].voters = {}] ELSE sets

(* A node knows the sets of its log, and no others.                         *)
HistorySound ==
  \A n \in Nodes : Running(rows[n]) => rows[n].history = KnownTo(n, SetsOf(rows[n].quorum.log))

(* V22.  Who has more than first records of leaders has read a set.         *)
VotersAreKnown ==
  \A n \in Nodes :
    (Running(rows[n]) /\ \E i \in DOMAIN rows[n].quorum.log :
                          rows[n].quorum.log[i].value # LeaderChange)
      => rows[n].history[Len(rows[n].history)].voters # {}

(* What nodes know to be committed of the sets is one line.                 *)
CommittedSetsOneLine ==
  LET line == SetsOf(committed)
      known(n) == SelectSeq(rows[n].history,
                    LAMBDA set : set.offset < MaxOf(rows[n].quorum.highWatermark, 0))
  IN \A n \in Nodes :
       LET k == known(n) IN
       Running(rows[n]) =>
         k = KnownTo(n, SelectSeq(line,
               LAMBDA s : s.offset < MaxOf(rows[n].quorum.highWatermark, 0)))

(* As QuorumRules has it, of two logs.                                      *)
LogOf(n) == rows[n].quorum.log
EpochOf(log) == IF log = <<>> THEN 0 ELSE log[Len(log)].epoch
AtLeastAsLong(a, b) ==
  \/ EpochOf(a) > EpochOf(b)
  \/ EpochOf(a) = EpochOf(b) /\ Len(a) >= Len(b)

(* Who could vote for m: voters of m's set whose logs are no longer.        *)
KnownVoters(m) == rows[m].history[Len(rows[m].history)].voters
Supporters(m) == {q \in KnownVoters(m) : AtLeastAsLong(LogOf(m), LogOf(q))}

(* No two nodes could win elections by majorities that have nobody in       *)
(* common.  (So many supporters each, and in all, are needed for that.)     *)
NoDisjointMajorities ==
  \A m, n \in Nodes :
    LET needed(k) == Cardinality(KnownVoters(k)) \div 2 + 1
    IN (/\ Running(rows[m]) /\ Running(rows[n])
        /\ m \in KnownVoters(m) /\ n \in KnownVoters(n))
         => ~(/\ Cardinality(Supporters(m)) >= needed(m)
              /\ Cardinality(Supporters(n)) >= needed(n)
              /\ Cardinality(Supporters(m) \cup Supporters(n)) >= needed(m) + needed(n))

(* What was ever committed is on the disks of a majority of the last set    *)
(* that is committed, or of one that some log has after it.                 *)
CommittedSurvives ==
  LET holders == {v \in Nodes : /\ rows[v].quorum.flushed >= Len(committed)
                                /\ IsPrefixOf(committed, LogOf(v))}
  IN \/ IsMajorityOf(holders, LastVoters(committed))
     \/ \E n \in Nodes : /\ IsPrefixOf(committed, LogOf(n))
                         /\ IsMajorityOf(holders, LastVoters(LogOf(n)))

(* Whoever may be counted has on disk what it is counted for.               *)
WouldBeVoterFlushed ==
  \A l, n \in Nodes :
    (rows[l].quorum.role = "Leader" /\ rows[n].quorum.epoch <= rows[l].quorum.epoch)
      => rows[l].quorum.endOffsets[n] <= rows[n].quorum.flushed

(* No leader is outside the set that it knows to be committed.              *)
RemovedLeaderResigns ==
  \A n \in Nodes :
    (rows[n].quorum.role = "Leader" /\ rows[n].quorum.highWatermark > 0)
      => \/ n \in LastVoters(Prefix(LogOf(n), rows[n].quorum.highWatermark))
         \/ n \in LastVoters(LogOf(n))

(* What a set says of the listeners of a voter, the sets after it say, too, *)
(* for as long as it is a voter.                                            *)
UpdatesStay ==
  \A n \in Nodes :
    LET log == rows[n].quorum.log
        places == SelectSeq([i \in 1..Len(log) |-> i], LAMBDA i : log[i].value = VotersRecord)
    IN \A i \in 1..(Len(places) - 1) :
         (log[places[i]].moved \cap log[places[i + 1]].voters) \subseteq log[places[i + 1]].moved

(* Who asks to be a voter by itself was none before.                        *)
RemovedStaysOut ==
  \A n \in Nodes :
    rows[n].asks = "AddVoter" =>
      LET sets == SetsOf(rows[n].quorum.log) IN \A i \in DOMAIN sets : n \notin sets[i].voters

-----------------------------------------------------------------------------
(* Safety of single steps.                                                  *)

(* A leader that begins a change has committed all sets, and a record of    *)
(* its epoch; who joins was at the end of its log.  Of the voters of the set *)
(* that comes with kraft.version 1 it has heard in its epoch.               *)
NoIllegalJoinStep ==
  \A n \in Nodes :
    LET before == rows[n]
        log == rows'[n].quorum.log
        begins == /\ before.quorum.role = "Leader" /\ rows'[n].quorum.role = "Leader"
                  /\ Len(log) > Len(before.quorum.log)
                  /\ log[Len(log)].value = VotersRecord
        changes == begins /\ log[Len(log)].voters # LastVoters(before.quorum.log)
        upgrades == begins /\ KraftVersion = 0 /\ Len(SetsOf(before.quorum.log)) = 1
    IN /\ upgrades => FirstVoters \subseteq ({n} \cup {each.node : each \in before.heard})
       /\ changes =>
         /\ before.quorum.highWatermark > before.quorum.epochStart
         /\ LET sets == SetsOf(before.quorum.log)
            IN /\ sets[Len(sets)].offset < before.quorum.highWatermark
               /\ log[Len(log)].voters \ sets[Len(sets)].voters \subseteq before.caughtUp
=============================================================================
