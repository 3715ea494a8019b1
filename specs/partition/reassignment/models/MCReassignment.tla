---------------------------- MODULE MCReassignment ----------------------------
(***************************************************************************)
(* A controller whose brokers come and go, and an administrator.  What is   *)
(* limited is spent from budgets; brokers that are fenced come back, and    *)
(* replicas join the ISR, as often as they may.  Epochs are left out of the *)
(* view: every proposal is the newest.                                      *)
(***************************************************************************)
EXTENDS ReassignmentProperties, TLC

CONSTANTS
  b1, b2, b3, b4, b5,
  Listed,        \* all brokers, in the order in which targets name them
  TargetSizes,   \* number of replicas of a target
  MaxReassigns, MaxCancels,
  MaxGone,       \* sessions that end, clean stops, unregistrations
  MaxUnclean,    \* of those that come back, the number without proof of a clean stop
  MaxLagging,    \* replicas that leave the ISR although they are active
  MaxFailures,   \* directories that fail
  MaxTopics,     \* topics and partitions that are made
  MaxPlaced,     \* those that are made as the placer chooses
  MaxRecords,    \* acknowledged, with the leader's notes
  Elections      \* those that an administrator asks for: "PREFERRED", "UNCLEAN"

Two == <<b1, b2>>
Three == <<b1, b2, b3>>
Four == <<b1, b2, b3, b4>>
Five == <<b1, b2, b3, b4, b5>>

VARIABLE spent   \* how much of each budget has been used

mcVars == <<controller, holders, spent>>

WithoutEpochs(r) ==
  [r EXCEPT !.topicsMade = 0,
            !.partitions = [i \in DOMAIN @ |->
               [@[i] EXCEPT !.leaderEpoch = 0, !.partitionEpoch = 0]],
            !.leaders = [i \in DOMAIN @ |->
               [@[i] EXCEPT !.leaderEpoch = r.partitions[i].leaderEpoch - @,
                            !.partitionEpoch = r.partitions[i].partitionEpoch - @]]]
View == <<WithoutEpochs(controller), holders, spent>>

Targets == {SelectSeq(Listed, LAMBDA b : b \in s) :
              s \in {t \in SUBSET Brokers : Cardinality(t) \in TargetSizes}}
Orders == UNION {{l \in [1..size -> Brokers] : Cardinality(RangeOf(l)) = size} :
                   size \in TargetSizes}
Failing == SUBSET Directories

Becomes(outcomes) == \E o \in outcomes : controller' = o.row

Spend(budget, limit) ==
  /\ spent[budget] < limit
  /\ spent' = [spent EXCEPT ![budget] = @ + 1]

Proposal(i, isr) ==
  LET p == controller.partitions[i]
  IN [type |-> "AlterPartition", partition |-> i, source |-> p.leader, isr |-> isr,
      leaderEpoch |-> p.leaderEpoch, partitionEpoch |-> p.partitionEpoch]

(* A replica joins the ISR: as the leader's notes say, or when it will.     *)
Joining(i, b) ==
  LET p == controller.partitions[i]
  IN IF LeaderNotes
     THEN Step_HandleSendAlterPartition(0, controller, [partition |-> i, broker |-> b])
     ELSE IF p.leader # Nobody /\ b \in RangeOf(p.replicas) \ p.isr
          THEN Step_HandleAlterPartition(0, controller, Proposal(i, p.isr \cup {b}))
          ELSE {}

(* With notes: the leader reads the metadata, a replica copies.             *)
Copying(i) ==
  IF ~LeaderNotes THEN {}
  ELSE Step_HandleMetadataUpdate(0, controller, [partition |-> i]) \cup
       UNION {Step_HandleReplicaFetch(0, controller, [partition |-> i, broker |-> b]) :
                b \in Brokers}

Free ==
  \/ \E b \in Brokers, failed \in {f \in Failing : f = {} \/ MaxFailures > 0} :
       /\ \/ failed = {} /\ UNCHANGED spent
          \/ failed # {} /\ Spend("failures", MaxFailures)
       /\ Becomes(Step_HandleUnfenceBroker(0, controller, [broker |-> b, failed |-> failed]))
  \/ /\ UNCHANGED spent
     /\ \E i \in DOMAIN controller.partitions, b \in Brokers : Becomes(Joining(i, b))
  \/ UNCHANGED spent /\ \E i \in DOMAIN controller.partitions : Becomes(Copying(i))
  \/ /\ UNCHANGED spent
     /\ \E b \in Brokers :
          /\ controller.registrations[b].state = "Fenced"
          /\ Directories # controller.registrations[b].directories
          /\ Becomes(Step_HandleRegisterBroker(0, controller,
               [broker |-> b, clean |-> TRUE, directories |-> Directories]))

Budgeted ==
  \/ \E i \in DOMAIN controller.partitions, t \in Targets :
       /\ Spend("reassigns", MaxReassigns)
       /\ Becomes(Step_HandleReassign(0, controller, [partition |-> i, target |-> t]))
  \/ \E i \in DOMAIN controller.partitions :
       /\ Spend("cancels", MaxCancels)
       /\ Becomes(Step_HandleCancelReassignment(0, controller, [partition |-> i]))
  \/ \E b \in Brokers :
       /\ Spend("gone", MaxGone)
       /\ \/ Becomes(Step_HandleFenceBroker(0, controller, [broker |-> b]))
          \/ Becomes(Step_HandleShutDownBroker(0, controller, [broker |-> b]))
          \/ Becomes(Step_HandleUnregisterBroker(0, controller, [broker |-> b]))
  \/ \E b \in Brokers :
       /\ Spend("unclean", MaxUnclean)
       /\ Becomes(Step_HandleRegisterBroker(0, controller,
            [broker |-> b, clean |-> FALSE, directories |-> Directories]))
  \/ \E i \in DOMAIN controller.partitions :
       LET p == controller.partitions[i] IN
       /\ p.leader # Nobody
       /\ Spend("lagging", MaxLagging)
       /\ \E b \in p.isr \ {p.leader} :
            Becomes(Step_HandleAlterPartition(0, controller, Proposal(i, p.isr \ {b})))
  \/ \E i \in DOMAIN controller.partitions :
       /\ Spend("records", MaxRecords)
       /\ Becomes(Step_HandleProduce(0, controller, [partition |-> i]))
  \/ \E b \in Brokers, d \in Directories :
       /\ Spend("failures", MaxFailures)
       /\ Becomes(Step_HandleDirectoryFailure(0, controller, [broker |-> b, directory |-> d]))
  \/ \E i \in DOMAIN controller.partitions, b \in Brokers, d \in Directories :
       /\ MaxFailures > 0 /\ UNCHANGED spent
       /\ controller.partitions[i].directories[b] = Unassigned
       /\ Becomes(Step_HandleAssignDirectory(0, controller,
            [partition |-> i, broker |-> b, directory |-> d]))
  \/ \E i \in DOMAIN controller.partitions, election \in Elections :
       /\ UNCHANGED spent
       /\ Becomes(Step_HandleElectPartitionLeader(0, controller,
            [partition |-> i, election |-> election]))
  \/ /\ Spend("topics", MaxTopics)
     /\ \E t \in Targets :
          \/ Becomes(Step_HandleCreateTopic(0, controller, [replicas |-> t]))
          \/ Becomes(Step_HandleCreatePartition(0, controller, [replicas |-> t]))
  \/ /\ Spend("topics", MaxPlaced)
     /\ \E t \in Orders :
          \/ Becomes(Step_HandlePlaceTopic(0, controller, [replicas |-> t]))
          \/ Becomes(Step_HandlePlacePartition(0, controller, [replicas |-> t]))
  \/ /\ MaxTopics + MaxPlaced > 0 /\ UNCHANGED spent
     /\ Becomes(Step_HandleDeleteTopic(0, controller, [type |-> "DeleteTopic"]))

MCInit ==
  /\ controller = InitialRow(0)
  /\ holders = <<RangeOf(FirstReplicas)>>
  /\ spent = [reassigns |-> 0, cancels |-> 0, gone |-> 0, unclean |-> 0, lagging |-> 0,
              failures |-> 0, topics |-> 0, records |-> 0]

MCNext ==
  /\ Free \/ Budgeted
  /\ controller' # controller
  /\ holders' = HoldersAfter(controller, controller', holders)

MCSpec == MCInit /\ [][MCNext]_mcVars

-----------------------------------------------------------------------------
(* Liveness: faults and requests have budgets. After them fenced brokers    *)
(* come back, leaders read the metadata, replicas copy and join.            *)

CONSTANT Fair    \* "Unfence", "Join": what continues

RowsOf(outcomes) == {o.row : o \in outcomes} \ {controller}

Unfenced ==
  UNION {RowsOf(Step_HandleUnfenceBroker(0, controller, [broker |-> b, failed |-> {}])) :
           b \in Brokers}
JoinedOrCopied ==
  UNION {RowsOf(Copying(i)) \cup UNION {RowsOf(Joining(i, b)) : b \in Brokers} :
           i \in DOMAIN controller.partitions}

(* Weak fairness of a step to one of these rows.  Of ENABLED TLC would ask  *)
(* more than it can.                                                        *)
CanUnfence == Unfenced # {}
CanJoin == JoinedOrCopied # {}
UnfenceStep == controller' \in Unfenced /\ UNCHANGED spent
JoinStep == controller' \in JoinedOrCopied /\ UNCHANGED spent

LiveSpec ==
  /\ MCInit /\ [][MCNext]_mcVars
  /\ "Unfence" \in Fair => ([]<>(~CanUnfence) \/ []<><<UnfenceStep>>_mcVars)
  /\ "Join" \in Fair => ([]<>(~CanJoin) \/ []<><<JoinStep>>_mcVars)

(* A target whose members are all eventually active, under a leader, is     *)
(* eventually reached (R3).                                                 *)
Targeted == RangeOf(controller.targets[1].replicas)
Served ==
  /\ controller.partitions[1].leader # Nobody
  /\ \A b \in Targeted : controller.registrations[b].state = "Active"
TargetReachedInTheEnd ==
  <>[]Served =>
    []<>(~Reassigning(controller.partitions[1])
         /\ controller.partitions[1].replicas = controller.targets[1].replicas)

ReassignmentKeepsMinIsr == [][ReassignmentKeepsMinIsrStep]_mcVars
EpochsGrow == [][EpochsGrowStep]_mcVars
TopicIdsAreNew == [][TopicIdsAreNewStep]_mcVars
SpreadOverRacks == [][SpreadOverRacksStep]_mcVars

-----------------------------------------------------------------------------
(* Probes: each must be violated (non-vacuity).                             *)

Of(i) == controller.partitions[i]
NoMoveProbe ==
  \A i \in DOMAIN controller.partitions :
    Of(i).replicas # SelectSeq(Listed, LAMBDA b : b # Listed[1])
NoOverlapProbe ==
  [][\A i \in DOMAIN controller'.partitions :
       ~(/\ Same(controller, controller', i)
         /\ Reassigning(Of(i)) /\ Reassigning(controller'.partitions[i])
         /\ controller.targets[i] # controller'.targets[i])]_mcVars
NoGivenUpProbe ==
  [][\A i \in DOMAIN controller'.partitions :
       ~(Same(controller, controller', i) /\ GivenUp(Of(i), controller'.partitions[i]))]_mcVars
NoLeaderMovedByEndProbe ==
  [][\A i \in DOMAIN controller'.partitions :
       ~(/\ Same(controller, controller', i)
         /\ Reassigning(Of(i)) /\ ~Reassigning(controller'.partitions[i])
         /\ Of(i).leader \notin RangeOf(controller'.partitions[i].replicas)
         /\ controller'.partitions[i].leader # Nobody)]_mcVars
NoElectedFromElrProbe ==
  [][\A i \in DOMAIN controller'.partitions :
       ~(Same(controller, controller', i) /\ controller'.partitions[i].leader \in Of(i).elr)]_mcVars
NoOfflineProbe == \A b \in Brokers : controller.registrations[b].directories = Directories
NoSecondTopicProbe == controller.topicId < 2
NoPlacedInOneRackProbe ==
  \A i \in DOMAIN controller.partitions \ {1} : ~(RangeOf(Of(i).replicas) \cap SecondRack = {})
(* A replica that left and came back is in the ISR again.                   *)
NoJoinsAgainProbe ==
  ~(/\ spent.reassigns = 2 /\ controller.partitions[1].isr = RangeOf(FirstReplicas)
    /\ controller.partitions[1].leaderEpoch > 0 /\ controller.targets[1].replicas = FirstReplicas)
=============================================================================
