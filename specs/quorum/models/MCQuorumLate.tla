---------------------------- MODULE MCQuorumLate ----------------------------
(***************************************************************************)
(* Late answers: a response that diverges may come again, or for the first  *)
(* time, when its asker has sent other requests since.  The reduced         *)
(* composition drops a response with its request, and where the network     *)
(* never forgets, no model is large enough for logs that diverge: nothing   *)
(* else has a diverging response that AnswersInFlight refuses.              *)
(*                                                                          *)
(* `late` has every diverging response that could have been made and whose  *)
(* asker is still in the epoch of its request.  That a leader serves such a *)
(* fetch changes none of its own fields that are kept here, so nothing is   *)
(* lost by having all of them at once.  Followers may keep what they know   *)
(* to be committed, because they stop at a response that contradicts it     *)
(* (quorum-late-known).                                                     *)
(***************************************************************************)
EXTENDS MCQuorumReduced

VARIABLE late

lateVars == <<rows, network, committed, ballots, appended, spent, late>>

OwnHighWatermark(row) == row.highWatermark

(* The diverging responses that n's leader may give to n's fetch now.       *)
Diverging(n) ==
  LET p == rows[n].leader
      m == RequestInFlight(n, rows[n], p)
  IN IF rows[n].role # "Follower" \/ ~Running(rows[p]) THEN {}
     ELSE UNION {{r \in Replies(served, m) : r.diverging # NoDivergence} :
                   served \in Served(p, rows[p], m)}

UseLate(n) ==
  \E r \in late :
    /\ r.destination = n
    /\ RowsBecomeOneOf({[rows EXCEPT ![n] = Normal(used.row)] : used \in Use(n, rows[n], r)})

LateInit == MCInit /\ late = {}

LateNext ==
  /\ \E n \in Voters :
       /\ Running(rows[n])
       /\ (UNCHANGED spent /\ (Free(n) \/ UseLate(n))) \/ Budgeted(n)
  /\ rows' # rows
  /\ late' = {r \in late \cup UNION {Diverging(n) : n \in Voters} :
                r.request.epoch >= rows'[r.destination].epoch}
  /\ committed' = CommittedAfter(committed, rows')
  /\ UNCHANGED <<appended, ballots>>

LateSpec == LateInit /\ [][LateNext]_lateVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

(* A late response is there whose asker has other records by now.           *)
NoLateProbe ==
  \A r \in late : r.request.fetchOffset = EndOffset(rows[r.destination].log)
=============================================================================
