------------------------------ MODULE MCHosting ------------------------------
(***************************************************************************)
(* A broker, its metadata, and what happens to its directories.  What is    *)
(* limited is spent from budgets.                                           *)
(***************************************************************************)
EXTENDS HostingProperties, TLC

CONSTANTS
  MaxTopics,     \* topics that are made
  MaxChanges,    \* of the assignment, of the leader, of the ISR
  MaxFailures,   \* directories that fail, starts without one, moves
  MaxCrashes

VARIABLE spent   \* how much of each budget has been used

mcVars == <<host, spent>>

None == [type |-> "None"]

Becomes(outcomes) == \E o \in outcomes : host' = o.row

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

At(d) == [directory |-> d]

Free ==
  /\ UNCHANGED spent
  /\ \/ Becomes(Step_HandleTopicDeleted(1, host, None))
     \/ Becomes(Step_HandleJoinIsr(1, host, None))
     \/ Becomes(Step_HandleAcknowledge(1, host, None))
     \/ Becomes(Step_HandleApplyRecords(1, host, None))
     \/ Becomes(Step_HandleLoadSnapshot(1, host, None))
     \/ \E d \in Directories : Becomes(Step_HandleReportDirectory(1, host, At(d)))
     \/ Becomes(Step_HandleFutureCaughtUp(1, host, None))
     \/ Becomes(Step_HandlePromoteFuture(1, host, None))
     \/ Becomes(Step_HandleCancelMove(1, host, None))
     \/ Becomes(Step_HandlePropose(1, host, None))
     \/ Becomes(Step_HandleHostRestart(1, host, [directories |-> Directories]))

Budgeted ==
  \/ /\ Spend("topics", MaxTopics)
     /\ \E assigned \in BOOLEAN :
          Becomes(Step_HandleTopicCreated(1, host, [assigned |-> assigned]))
  \/ /\ Spend("changes", MaxChanges)
     /\ \/ Becomes(Step_HandleAssignmentChanged(1, host, None))
        \/ Becomes(Step_HandleLeaderChanged(1, host, None))
        \/ Becomes(Step_HandleIsrChanged(1, host, None))
  \/ /\ Spend("failures", MaxFailures)
     /\ \/ \E d \in Directories :
             \/ Becomes(Step_HandleLogDirFailure(1, host, At(d)))
             \/ Becomes(Step_HandleMoveReplica(1, host, At(d)))
        \/ \E some \in SUBSET Directories :
             some # Directories /\ Becomes(Step_HandleHostRestart(1, host, [directories |-> some]))
  \/ Spend("crashes", MaxCrashes) /\ Becomes(Step_HandleHostCrash(1, host, None))

MCInit ==
  /\ host = InitialRow(1)
  /\ spent = [topics |-> 0, changes |-> 0, failures |-> 0, crashes |-> 0]

MCNext == (Free \/ Budgeted) /\ host' # host

MCSpec == MCInit /\ [][MCNext]_mcVars

ProposalKept == [][ProposalKeptStep]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

NoOfflineProbe == host.replica.state # "Offline"
NoSecondTopicProbe == ~(host.replica.topicId = 2 /\ host.replica.state = "Online")
NoPromotionProbe ==
  [][~(host.future # Unassigned /\ host'.replica.directory = host.future)]_mcVars
NoFutureFoundProbe ==
  [][~(/\ ~host.published /\ host'.published
       /\ host'.future # Unassigned /\ ~host'.futureCaughtUp)]_mcVars
NoStrayProbe ==
  [][~(/\ ~host.published /\ host'.published
       /\ Cardinality(host'.logs) < Cardinality(host.logs))]_mcVars
=============================================================================
