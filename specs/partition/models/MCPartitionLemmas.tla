-------------------------- MODULE MCPartitionLemmas --------------------------
(***************************************************************************)
(* The three lemmas about logs that the proof of the partition assumes      *)
(* (reference/partition/proof/relation.py), as invariants of the reduced    *)
(* composition: of the fetch that a follower owes its leader now, and of    *)
(* each answer that it could use now.                                       *)
(***************************************************************************)
EXTENDS MCPartitionReduced

(* How far two logs are the same.                                           *)
Common(a, b) ==
  CHOOSE end \in 0..MinOf(Len(a), Len(b)) :
    /\ AgreeBelow(a, b, end)
    /\ end = MinOf(Len(a), Len(b)) \/ ~SameRecord(a[end + 1], b[end + 1])

(* r follows n in the epoch that n leads.                                   *)
Follows(r, n) ==
  IsLeader(rows[n]) /\ Owes(rows[r]) /\ rows[r].leader = n
  /\ rows[r].leaderEpoch = rows[n].leaderEpoch

Valid(n, m) == FetchEpochError(rows[n], m) = "NONE" /\ FetchOffsetError(rows[n], m) = "NONE"

(* A fetch that is found not diverging comes from a prefix of the leader's  *)
(* log.                                                                     *)
FetchSound ==
  \A n, r \in Brokers :
    Follows(r, n) =>
      LET m == FetchOf(r, rows[r]) IN
      (Valid(n, m) /\ ~IsDiverging(rows[n], m)) => AgreeBelow(rows[r].log, rows[n].log,
                                                              Len(rows[r].log))

(* What a follower cuts on an answer, the leader's log does not share.      *)
CutsNothing ==
  \A n, r \in Brokers :
    Follows(r, n) =>
      LET common == Common(rows[r].log, rows[n].log)
          m == FetchOf(r, rows[r])
          answers == {a \in network : /\ a.type = "ReplicaFetchResponse" /\ a.source = n
                                      /\ a.destination = r /\ ResponseMatches(rows[r], a)}
      IN /\ (Valid(n, m) /\ IsDiverging(rows[n], m)) =>
              TruncationPoint(rows[r], EpochEndFor(rows[n], m)) >= common
         /\ \A a \in answers :
              /\ a.error = "OFFSET_OUT_OF_RANGE" => a.endOffset >= common
              /\ (a.error = "NONE" /\ a.diverging # NoDivergence) =>
                   TruncationPoint(rows[r], a.diverging) >= common

(* What a follower appends leaves it with a prefix of the leader's log.     *)
Appended ==
  \A n, r \in Brokers :
    Follows(r, n) =>
      \A a \in network :
        (/\ a.type = "ReplicaFetchResponse" /\ a.source = n /\ a.destination = r
         /\ ResponseMatches(rows[r], a) /\ a.error = "NONE" /\ a.diverging = NoDivergence) =>
          LET longer == rows[r].log \o Appendable(a)
          IN AgreeBelow(longer, rows[n].log, Len(longer))
=============================================================================
