------------------------------ MODULE ShareGroup ------------------------------
(***************************************************************************)
(* A share group's state as a system: the group coordinator, the share      *)
(* coordinator, the leader of the partition, and what is under way.         *)
(* Requests and responses arrive in any order; a request that is made again *)
(* may be handled twice.                                                    *)
(***************************************************************************)
EXTENDS ShareGroupHandlers

VARIABLES group, store, leader, network

vars == <<group, store, leader, network>>

Init ==
  /\ group = InitialShareGroup
  /\ store = InitialShareStore
  /\ leader = InitialStateLeader
  /\ network = {}

LiftGroup(outcomes, left) ==
  \E o \in outcomes :
    group' = o.row /\ network' = left \cup o.sent /\ UNCHANGED <<store, leader>>
LiftStore(outcomes, left) ==
  \E o \in outcomes :
    store' = o.row /\ network' = left \cup o.sent /\ UNCHANGED <<group, leader>>
LiftLeader(outcomes, left) ==
  \E o \in outcomes :
    leader' = o.row /\ network' = left \cup o.sent /\ UNCHANGED <<group, store>>

-----------------------------------------------------------------------------

SubscribeTopic == LiftGroup(Step_HandleSubscribeTopic(Group, group, 0), network)
AlterOffsets(start) ==
  LiftGroup(Step_HandleAlterOffsets(Group, group, [type |-> "AlterOffsets", start |-> start]),
            network)
DeleteOffsets == LiftGroup(Step_HandleDeleteOffsets(Group, group, 0), network)
RetryGroup == LiftGroup(Step_HandleRetryGroup(Group, group, 0), network)

LoadState == LiftLeader(Step_HandleLoadState(Leader, leader, 0), network)
AcknowledgeNext == LiftLeader(Step_HandleAcknowledgeNext(Leader, leader, 0), network)
RetryState == LiftLeader(Step_HandleRetryState(Leader, leader, 0), network)
MoveStateLeader == LiftLeader(Step_HandleMoveStateLeader(Leader, leader, 0), network)
ProduceRecord == LiftLeader(Step_HandleProduceRecord(Leader, leader, 0), network)

Arrive(m) ==
  LET left == network \ {m} IN
  /\ m \in network
  /\ CASE m.type = "InitializeState" ->
            LiftStore(Step_HandleInitializeState(Store, store, m), left)
       [] m.type = "DeleteState" -> LiftStore(Step_HandleDeleteState(Store, store, m), left)
       [] m.type = "ReadState" -> LiftStore(Step_HandleReadState(Store, store, m), left)
       [] m.type = "WriteState" -> LiftStore(Step_HandleWriteState(Store, store, m), left)
       [] m.type = "InitializeStateResponse" ->
            LiftGroup(Step_HandleInitializeStateResponse(Group, group, m), left)
       [] m.type = "DeleteStateResponse" ->
            LiftGroup(Step_HandleDeleteStateResponse(Group, group, m), left)
       [] m.type = "ReadStateResponse" ->
            LiftLeader(Step_HandleReadStateResponse(Leader, leader, m), left)
       [] OTHER -> LiftLeader(Step_HandleWriteStateResponse(Leader, leader, m), left)

Lose(m) ==
  m \in network /\ network' = network \ {m} /\ UNCHANGED <<group, store, leader>>
=============================================================================
