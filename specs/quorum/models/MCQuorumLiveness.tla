-------------------------- MODULE MCQuorumLiveness --------------------------
(***************************************************************************)
(* Liveness of the quorum.  Faults are budgets: disturbances (a             *)
(* timer that fires although a leader lives, a resignation), deaths, and    *)
(* leaders that go deaf: from then on they send, but receive nothing.       *)
(* After them timers are fair, and a message that is sent again and again   *)
(* to a live node arrives.  Randomised timers are what makes elections end in Kafka; here   *)
(* that is the assumption Alone: when timers fire of themselves, no two     *)
(* voters stand at the same time.                                           *)
(*                                                                          *)
(* No symmetry, view or constraint: with those TLC's temporal check would   *)
(* be unsound.  The state space is finite because epochs grow only through  *)
(* disturbances and through elections that are lost because of them.        *)
(***************************************************************************)
EXTENDS MCQuorumReduced

CONSTANTS MaxDisturbances, MaxDeaths, MaxDeaf, Fair

LiveInit ==
  /\ Init /\ HistoryInit
  /\ spent = [records |-> 0, crashes |-> 0, disturbances |-> 0, deaths |-> 0,
               deaf |-> {}]

Hears(n) == Running(rows[n]) /\ n \notin spent.deaf

Standing(row) == row.role \in {"Candidate", "Prospective"}

(* Somebody may still answer n.                                             *)
Waits(n) ==
  /\ Hears(n) /\ Standing(rows[n])
  /\ \E p \in Others(n) : Hears(p) /\ p \notin rows[n].granted \cup rows[n].rejected

(* Nobody else waits for answers, or has a term of office to end first.     *)
Alone(n) ==
  \A v \in Others(n) : ~Waits(v) /\ rows[v].role \notin {"Prospective", "Resigned"}

SomeLeaderLives(n) ==
  \E v \in Others(n) : Hears(v) /\ IsLeader(rows[v]) /\ rows[v].epoch >= rows[n].epoch

MayTimeOut(n) ==
  CASE rows[n].role = "Candidate" -> ~Waits(n)
    [] rows[n].role \in {"Follower", "Unattached"} -> ~SomeLeaderLives(n)
    [] OTHER -> FALSE

(* What becomes of the rows when p's answer to n arrives; who is deaf is    *)
(* answered, and does not hear it.                                          *)
Arrives(n, p) ==
  CASE ~Hears(p) -> {}
    [] Hears(n) -> AfterAnswer(n, rows[n], p)
    [] OTHER -> AfterRequest(n, rows[n], p)

AnswersTo(n, peers) == UNION {Arrives(n, p) : p \in peers}

(* A pre-vote is given up when nobody is left who could still grant it.     *)
GivesUp(n) ==
  \/ rows[n].role = "Resigned"
  \/ rows[n].role = "Prospective" /\ ~Waits(n)

(* The fetches of no majority reach n, so nothing resets its check-quorum   *)
(* timer: n is deaf, too many others are dead, or there are none.           *)
Unheard(n) ==
  LET fetching == IF Hears(n) THEN {v \in Others(n) : Running(rows[v])} ELSE {}
  IN fetching = {} \/ ~IsMajority(fetching \cup {n})

(* What heals, as the rows that it leads to.  Each of these is progress     *)
(* that cannot continue for ever, so one fairness condition serves them all.*)
(* `Fair` leaves parts out for the twins, which must fail.                  *)
Heals(n) ==
  {newRows \in
     (IF "Vote" \in Fair /\ Standing(rows[n])
      THEN AnswersTo(n, Voters \ (rows[n].granted \cup rows[n].rejected)) ELSE {})
     \cup
     (IF "Fetch" \in Fair /\ rows[n].role = "Follower"
      THEN Arrives(n, rows[n].leader) ELSE {})
     \cup
     (IF "Announce" \in Fair /\ IsLeader(rows[n]) THEN AnswersTo(n, Others(n)) ELSE {})
     \cup
     (IF "Flush" \in Fair
      THEN AfterLocal(n, Step_HandleFlush(n, rows[n], None)) ELSE {})
     \cup
     (IF "GiveUp" \in Fair /\ GivesUp(n)
      THEN AfterLocal(n, Step_HandleElectionTimeout(n, rows[n], None)) ELSE {})
     \cup
     (IF "CheckQuorum" \in Fair /\ Unheard(n)
      THEN AfterLocal(n, Step_HandleCheckQuorumTimeout(n, rows[n], None)) ELSE {}) :
   newRows # rows}

Heal(n) == \E newRows \in Heals(n) : RowsBecome(newRows)

Timer(n) == MayTimeOut(n) /\ Alone(n) /\ StartPreVote(n)

Disturb(n) ==
  /\ Spend("disturbances", MaxDisturbances)
  /\ \/ StartPreVote(n)
     \/ Local(Step_HandleResign, n, None)

Die(n) ==
  /\ Spend("deaths", MaxDeaths)
  /\ RowsBecomeOneOf(AfterLocal(n,
       Step_HandleCrash(n, rows[n], [keep |-> Len(rows[n].log)])))

GoDeaf(n) ==
  /\ IsLeader(rows[n]) /\ n \notin spent.deaf /\ Cardinality(spent.deaf) < MaxDeaf
  /\ spent' = [spent EXCEPT !.deaf = @ \cup {n}]
  /\ UNCHANGED <<rows, network>>

AppendRecord(n) ==
  /\ IsLeader(rows[n])
  /\ Spend("records", MaxRecords)
  /\ Local(Step_HandleAppend, n, [type |-> "Append", value |-> spent.records + 1])

Quiet(Action(_), n) ==
  /\ UNCHANGED spent /\ Action(n) /\ Running(rows[n])
  /\ rows' # rows
  /\ committed' = CommittedAfter(committed, rows')
  /\ UNCHANGED <<appended, ballots>>

Loud(Action(_), n) ==
  /\ Action(n) /\ Running(rows[n])
  /\ committed' = CommittedAfter(committed, rows')
  /\ UNCHANGED <<appended, ballots>>

LiveNext ==
  \E n \in Voters :
    \/ Quiet(Heal, n) \/ Quiet(Timer, n)
    \/ Loud(Disturb, n) \/ Loud(Die, n) \/ Loud(GoDeaf, n) \/ Loud(AppendRecord, n)

(* Fairness, spelt out with state predicates: TLC takes long for the        *)
(* ENABLED of a handler.  Healing is weakly fair.  A timer may be disarmed  *)
(* again and again before it fires, so timers are strongly fair.            *)
CanHeal == \E n \in Voters : Running(rows[n]) /\ Heals(n) # {}
TimerArmed(n) == Running(rows[n]) /\ MayTimeOut(n) /\ Alone(n)
TimerFires(n) ==
  /\ rows[n].role # "Prospective" /\ rows'[n].role = "Prospective"
  /\ UNCHANGED spent
HealingStep == UNCHANGED spent /\ ~\E n \in Voters : TimerFires(n)

Fairness ==
  /\ []<>(~CanHeal) \/ []<><<HealingStep>>_mcVars
  /\ "Timer" \in Fair =>
       \A n \in Voters : <>[](~TimerArmed(n)) \/ []<><<TimerFires(n)>>_mcVars

LiveSpec == LiveInit /\ [][LiveNext]_mcVars /\ Fairness

-----------------------------------------------------------------------------
(* A leader that a majority follows.                                        *)
LeadsMajority(n) ==
  /\ IsLeader(rows[n])
  /\ IsMajority({v \in Voters : /\ Running(rows[v]) /\ rows[v].epoch = rows[n].epoch
                                /\ rows[v].leader = n})
FunctionalLeader == \E n \in Voters : LeadsMajority(n)

EventuallyLeaderElected == []<>FunctionalLeader

(* Q15.  A leader that no fetch reaches does not lead for ever.             *)
IsolatedLeaderResigns ==
  \A n \in Voters : (IsLeader(rows[n]) /\ n \in spent.deaf) ~> ~IsLeader(rows[n])

(* Q15.  Whom a majority follows, and reaches, leads on.  (A sole voter     *)
(* that resigned for want of fetches would lead again at once, every time,  *)
(* so EventuallyLeaderElected would not show it.)                           *)
FollowedLeaderStaysStep ==
  \A n \in Voters :
    LeadsMajority(n) /\ Hears(n) /\ UNCHANGED spent => IsLeader(rows'[n])
FollowedLeaderStays == [][FollowedLeaderStaysStep]_mcVars

NotStuckInProspective ==
  \A n \in Voters : rows[n].role = "Prospective" ~> rows[n].role # "Prospective"

(* An appended record is committed, or no running voter holds it any more.  *)
InLog(log, value) == \E i \in 1..Len(log) : log[i].value = value
EventuallyCommitted ==
  \A value \in 1..MaxRecords :
    (spent.records >= value) ~>
      \/ InLog(committed, value)
      \/ \A n \in Voters : Running(rows[n]) => ~InLog(rows[n].log, value)
=============================================================================
