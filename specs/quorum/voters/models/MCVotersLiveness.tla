-------------------------- MODULE MCVotersLiveness --------------------------
(***************************************************************************)
(* Liveness where the voters change, as MCQuorumLiveness has it: faults are *)
(* budgets (a timer that fires although a leader lives, a resignation,      *)
(* leaders that go deaf, nodes that die); after them timers are fair, and   *)
(* what is sent again and again arrives.  Alone, the assumption that no two *)
(* voters stand at the same time, is made here too.                         *)
(*                                                                          *)
(* Nodes whose logs are not longer grant a pre-vote. A node that cannot win *)
(* does not stand, so epochs are bounded.                                   *)
(***************************************************************************)
EXTENDS MCVoters

CONSTANTS MaxDisturbances, MaxDeaths, MaxDeaf, Fair

(* A rule that Kafka does not have: the leader hands over first, and        *)
(* another leader removes it (replaces RemoveRefused;                       *)
(* finds/Z164/README.md).                                                   *)
RefusedToLeader(row, node) ==
  CASE ChangeRefused(row) # "" -> ChangeRefused(row)
    [] node \notin VotersOf(row) \/ VotersOf(row) = {node} -> "VOTER_NOT_FOUND"
    [] node = row.leader -> "NOT_LEADER_OR_FOLLOWER"
    [] OTHER -> ""

LiveInit ==
  /\ rows = Seed(CHOOSE l \in FirstVoters : TRUE, MaxRecords)
  /\ committed = <<[epoch |-> 1, value |-> LeaderChange, voters |-> {}, moved |-> {}]>>
  /\ spent = [records |-> MaxRecords, changes |-> 0, expiries |-> 0, crashes |-> 0,
              disturbances |-> 0, deaths |-> 0, deaf |-> {}]

Hears(n) == Running(rows[n]) /\ n \notin spent.deaf
Votes(n) == n \in Known(rows[n])
Others(n) == Nodes \ {n}

(* p may still grant n its vote.  (Rejections need not be remembered: they  *)
(* say that p will not.)                                                    *)
MayGrant(n, p) ==
  /\ Hears(p) /\ p \notin rows[n].granted
  /\ AtLeastAsLong(LogOf(n), LogOf(p))
  /\ \/ rows[p].epoch < rows[n].epoch
     \/ /\ rows[p].epoch = rows[n].epoch
        /\ rows[p].leader = Nobody /\ rows[p].voted \in {Nobody, n}

Waits(n) ==
  /\ Hears(n) /\ rows[n].role = "Candidate"
  /\ \E p \in Known(rows[n]) \ {n} : MayGrant(n, p)

Alone(n) == \A v \in Others(n) : ~Waits(v) /\ rows[v].role # "Resigned"

LivingLeaders(n) ==
  {v \in Others(n) : Hears(v) /\ Leads(v) /\ rows[v].epoch >= rows[n].epoch}

(* The nodes that would grant n a pre-vote, by its log.                     *)
MayWin(n) ==
  LET grants(q) == Hears(n) /\ Hears(q) /\ AtLeastAsLong(LogOf(n), LogOf(q))
  IN IsMajorityOf({q \in Known(rows[n]) : q = n \/ grants(q)}, Known(rows[n]))

MayTimeOut(n) ==
  /\ Votes(n) /\ LivingLeaders(n) = {}
  /\ CASE rows[n].role = "Candidate" -> ~Waits(n) /\ MayWin(n)
       [] rows[n].role \in {"Follower", "Unattached"} -> MayWin(n)
       [] OTHER -> FALSE

(* The fetches of no majority reach n.                                      *)
Unheard(n) ==
  LET fetching == IF Hears(n) THEN {v \in Known(rows[n]) \ {n} : Running(rows[v])} ELSE {}
  IN ~IsMajorityOf(fetching \cup {n}, Known(rows[n]))

(* The rows after p has answered a request of n. A deaf node does not       *)
(* receive the response.                                                    *)
Exchanged(n, p) ==
  CASE ~Hears(p) -> {}
    [] Hears(n) -> AfterExchange(n, p)
    [] OTHER -> {[r EXCEPT ![n] = rows[n]] : r \in AfterExchange(n, p)}

ExchangedWith(n, peers) == UNION {Exchanged(n, p) : p \in peers}

(* A voter without a leader learns of the living one when it requests       *)
(* pre-votes.                                                               *)
Hinted(n) ==
  {[rows EXCEPT ![n] = Normal(o.row)] :
     o \in UNION {Changed(n, rows[n], InForce(Known(rows[n]))!Finish(n, rows[n],
                    InForce(Known(rows[n]))!BecomeFollower(rows[n],
                      rows[l].epoch, l), {})) : l \in LivingLeaders(n)}}

(* What heals.  `Fair` leaves parts out for the twins, which must fail.     *)
Heals(n) ==
  LET role == rows[n].role
  IN {newRows \in
       (IF "Vote" \in Fair /\ role = "Candidate" THEN ExchangedWith(n, Asked(n)) ELSE {})
       \cup (IF "Fetch" \in Fair /\ role \in {"Follower", "Unattached"}
             THEN ExchangedWith(n, Asked(n)) ELSE {})
       \cup (IF "Announce" \in Fair /\ role = "Leader" THEN ExchangedWith(n, Asked(n)) ELSE {})
       \cup (IF Hears(n) /\ Votes(n) /\ role \in {"Unattached", "Candidate"} THEN Hinted(n) ELSE {})
       \cup Becomes(n, Step_HandleFlush(n, rows[n], None))
       \cup (IF role = "Resigned"
             THEN Becomes(n, Step_HandleElectionTimeout(n, rows[n], None)) ELSE {})
       \cup (IF "CheckQuorum" \in Fair /\ Unheard(n)
             THEN Becomes(n, Step_HandleCheckQuorumTimeout(n, rows[n], None)) ELSE {}) :
     newRows # rows}

Heal(n) == rows' \in Heals(n) /\ UNCHANGED spent

Timer(n) == MayTimeOut(n) /\ Alone(n) /\ rows' \in Becomes(n, Stands(n)) /\ UNCHANGED spent

Disturb(n) ==
  /\ Spend("disturbances", MaxDisturbances)
  /\ \/ rows[n].role \in {"Follower", "Unattached"} /\ MayWin(n)
        /\ rows' \in Becomes(n, Stands(n))
     \/ rows' \in Becomes(n, Step_HandleResign(n, rows[n], None))

Die(n) ==
  /\ Spend("deaths", MaxDeaths)
  /\ rows' \in Becomes(n, Step_HandleCrash(n, rows[n], [keep |-> Len(LogOf(n))]))

GoDeaf(n) ==
  /\ Leads(n) /\ n \notin spent.deaf /\ Cardinality(spent.deaf) < MaxDeaf
  /\ spent' = [spent EXCEPT !.deaf = @ \cup {n}]
  /\ UNCHANGED rows

LiveNext ==
  /\ \E n \in Nodes :
       /\ Running(rows[n])
       /\ \/ Heal(n) \/ Timer(n) \/ Disturb(n) \/ Die(n) \/ GoDeaf(n) \/ Budgeted(n)
  /\ committed' = CommittedAfter(committed, rows')

CanHeal == \E n \in Nodes : Running(rows[n]) /\ Heals(n) # {}
TimerArmed(n) == Running(rows[n]) /\ MayTimeOut(n) /\ Alone(n)
TimerFires(n) ==
  /\ rows[n].role \in {"Follower", "Unattached", "Candidate"}
  /\ rows'[n].epoch > rows[n].epoch
  /\ rows'[n].role \in {"Candidate", "Leader"} /\ UNCHANGED spent
HealingStep == UNCHANGED spent /\ rows' # rows /\ ~\E n \in Nodes : TimerFires(n)

(* As in MCQuorumLiveness: healing is weakly fair, timers are strongly so.  *)
Fairness ==
  /\ []<>(~CanHeal) \/ []<><<HealingStep>>_mcVars
  /\ "Timer" \in Fair =>
       \A n \in Nodes : <>[](~TimerArmed(n)) \/ []<><<TimerFires(n)>>_mcVars

LiveSpec == LiveInit /\ [][LiveNext]_mcVars /\ Fairness

-----------------------------------------------------------------------------
(* V19.  A set that is in some log is committed, or taken back by all.      *)
Open(n) ==
  /\ Running(rows[n])
  /\ LET sets == SetsOf(LogOf(n)) IN sets[Len(sets)].offset >= Len(committed)
ChangeResolved == (\E n \in Nodes : Open(n)) ~> ~(\E n \in Nodes : Open(n))

(* V20.  A leader that no fetch reaches does not lead for ever, unless it is *)
(* the only voter.                                                          *)
Isolated(n) == Leads(n) /\ n \in spent.deaf /\ Known(rows[n]) # {n}
IsolatedLeaderResigns == \A n \in Nodes : Isolated(n) ~> ~Isolated(n)
=============================================================================
