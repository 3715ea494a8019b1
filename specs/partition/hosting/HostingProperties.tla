-------------------------- MODULE HostingProperties --------------------------
(***************************************************************************)
(* Named properties of a broker's replica.                                  *)
(*                                                                          *)
(* Law of this file: no operator of HostingRules is used.                   *)
(***************************************************************************)
EXTENDS Hosting

VARIABLE host    \* the whole state of a broker

Follows == host.running /\ host.published

LogsAt(directory) == {log \in host.logs : log.directory = directory}

-----------------------------------------------------------------------------
(* Properties of states.                                                    *)

(* A broker hosts the partition exactly if its applied metadata say so,     *)
(* with their leader and epochs. Misses: metadata that is not applied yet,  *)
(* and replicas in a failed directory.                                      *)
LocalChangesSound ==
  LET image == host.applied
      replica == host.replica
  IN Follows =>
       /\ (replica.state # "None") = image.assigned
       /\ replica.state = "Online" =>
            /\ replica.leads = image.leads
            /\ replica.leaderEpoch = image.leaderEpoch
            /\ replica.partitionEpoch = image.partitionEpoch

(* Applied metadata of a topic are never newer than the committed ones, and *)
(* equal to them in the same epoch. Misses: wrong metadata of an older      *)
(* epoch.                                                                   *)
AppliedWasCommitted ==
  (Follows /\ host.applied.topicId = host.image.topicId) =>
    \/ host.applied.partitionEpoch < host.image.partitionEpoch
    \/ host.applied = host.image

(* A log is served only under its own topic id. Misses: a log of an old     *)
(* topic that is not served, and one in a failed directory.                 *)
NoReplicaOfOldTopic ==
  (Follows /\ host.replica.state = "Online") =>
    \A log \in LogsAt(host.replica.directory) :
      /\ host.replica.topicId = log.topicId
      /\ log.topicId = host.applied.topicId

(* An online replica in the ISR has all acknowledged records. Misses: a     *)
(* replica that is offline and so no candidate.                             *)
LeaderCandidateCompleteness ==
  (/\ host.running /\ host.replica.state = "Online"
   /\ host.replica.topicId = host.image.topicId /\ host.image.inIsr)
    => \A log \in LogsAt(host.replica.directory) : log.complete

(* A replica is out of the ISR once its failed directory is reported to the *)
(* controller. Misses: the time before the report.                          *)
OfflineDirNeverLeads ==
  (/\ Follows /\ host.replica.state = "Offline"
   /\ host.replica.directory \in host.reported
   /\ host.replica.topicId = host.image.topicId)
    => ~host.image.inIsr

(* The controller's record of the replica's directory is correct, or will   *)
(* be when a move ends. Misses: metadata that the broker has not applied    *)
(* yet.                                                                     *)
DirectoryIsKnown ==
  (/\ Follows /\ host.replica.state = "Online" /\ host.image.assigned
   /\ host.applied.topicId = host.image.topicId
   /\ host.replica.topicId = host.image.topicId)
    => \/ host.image.directory \in {Unassigned, host.replica.directory}
       \/ host.futureAssigned /\ host.image.directory = host.future

-----------------------------------------------------------------------------
(* Properties of steps.                                                     *)

(* A pending proposal is dropped only by newer metadata or with the         *)
(* replica. Misses: a response that never arrives.                          *)
ProposalKeptStep ==
  (/\ host.replica.state = "Online" /\ host'.replica.state = "Online"
   /\ host'.replica.topicId = host.replica.topicId
   /\ host.replica.pending /\ ~host'.replica.pending)
    => host'.replica.partitionEpoch > host.replica.partitionEpoch
=============================================================================
