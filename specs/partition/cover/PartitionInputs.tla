--------------------------- MODULE PartitionInputs ---------------------------
(***************************************************************************)
(* The inputs with fields of brokers and their controller, for driving      *)
(* every edge of a graph: the same as `local` of                            *)
(* reference/partition/system.py.                                           *)
(***************************************************************************)
EXTENDS BrokerLifecycle, PartitionController

(* Of the controller.                                                       *)
Inputs_SessionTimeout(n, row) == {[type |-> "SessionTimeout", broker |-> b] : b \in Brokers}
Inputs_ElectLeaders(n, row) ==
  {[type |-> "ElectLeaders", election |-> e] : e \in {"PREFERRED", "ONLINE", "UNCLEAN"}}

(* Of a broker: what it reads of the metadata, any number of records.       *)
Inputs_MetadataUpdate(n, row, log) ==
  {[type |-> "MetadataUpdate", offset |-> row.image.offset,
    records |-> SubSeq(log, row.image.offset - InitialOffset + 1, end - InitialOffset)] :
     end \in (row.image.offset + 1)..(InitialOffset + Len(log))}
Inputs_ReplicaLagTimeout(n, row) ==
  {[type |-> "ReplicaLagTimeout", replica |-> r] : r \in Brokers \ {n}}
Inputs_ControllerRequestTimeout(n, row) ==
  {[type |-> "ControllerRequestTimeout", request |-> request] :
     request \in {row.controllerRequest, row.alterRequest}}
Inputs_ReplicaFetchTimeout(n, row) ==
  {[type |-> "ReplicaFetchTimeout", request |-> m] : m \in row.fetching}
Inputs_ProduceTimeout(n, row) ==
  {[type |-> "ProduceTimeout", request |-> p.request] : p \in row.parked}
Inputs_BrokerCrash(n, row) ==
  {[type |-> "BrokerCrash", keep |-> keep, corrupt |-> Undefined] :
     keep \in IF IsUp(row) THEN MaxOf(row.flushed, row.logStart)..EndOffset(row.log) ELSE {}}

(* Of clients: the next record of a leader, and anything of one that is up. *)
Inputs_ProduceRequest(n, row) ==
  {[type |-> "ProduceRequest", source |-> Clients, destination |-> n, client |-> 0,
    acks |-> acks, values |-> <<EndOffset(row.log) + 1>>,
    producer |-> IF idempotent THEN 0 ELSE Undefined,
    producerEpoch |-> IF idempotent THEN 0 ELSE Undefined,
    sequence |-> IF idempotent THEN EndOffset(row.log) ELSE Undefined] :
     acks \in {1, -1}, idempotent \in IF IsLeader(row) THEN BOOLEAN ELSE {}}
Inputs_ConsumerFetchRequest(n, row) ==
  {[type |-> "ConsumerFetchRequest", source |-> Clients, destination |-> n, client |-> 0,
    epoch |-> Undefined, fetchOffset |-> offset, fromFollower |-> fromFollower] :
     offset \in 0..(EndOffset(row.log) + 1), fromFollower \in BOOLEAN}
Inputs_ListOffsetsRequest(n, row) ==
  {[type |-> "ListOffsetsRequest", source |-> Clients, destination |-> n, client |-> 0,
    epoch |-> Undefined, timestamp |-> timestamp] : timestamp \in {"Latest", "Earliest"}}
Inputs_DeleteRecordsRequest(n, row) ==
  {[type |-> "DeleteRecordsRequest", source |-> Clients, destination |-> n, client |-> 0,
    offset |-> offset] : offset \in 0..EndOffset(row.log)}
==============================================================================
