-------------------------- MODULE HostingProperties --------------------------
(***************************************************************************)
(* What a broker promises of its replica, as named properties.              *)
(*                                                                          *)
(* Law of this file: no operator of HostingRules is used.                   *)
(***************************************************************************)
EXTENDS Hosting

VARIABLE host    \* the whole state of a broker

Follows == host.running /\ host.published

LogsAt(directory) == {log \in host.logs : log.directory = directory}

-----------------------------------------------------------------------------
(* Of every state.                                                          *)

(* The broker hosts the partition if, and only if, the metadata that it has *)
(* applied say so, with their leader and epochs.                            *)
LocalChangesSound ==
  LET image == host.applied
      replica == host.replica
  IN Follows =>
       /\ (replica.state # "None") = image.assigned
       /\ replica.state = "Online" =>
            /\ replica.leads = image.leads
            /\ replica.leaderEpoch = image.leaderEpoch
            /\ replica.partitionEpoch = image.partitionEpoch

(* What it has applied of a topic was committed: it is never newer than the *)
(* metadata, and of one epoch there is one state.                           *)
AppliedWasCommitted ==
  (Follows /\ host.applied.topicId = host.image.topicId) =>
    \/ host.applied.partitionEpoch < host.image.partitionEpoch
    \/ host.applied = host.image

(* A log is served only under its own topic id.                             *)
NoReplicaOfOldTopic ==
  (Follows /\ host.replica.state = "Online") =>
    \A log \in LogsAt(host.replica.directory) :
      /\ host.replica.topicId = log.topicId
      /\ log.topicId = host.applied.topicId

(* A replica in the ISR has all that was acknowledged.                      *)
LeaderCandidateCompleteness ==
  (/\ host.running /\ host.replica.state = "Online"
   /\ host.replica.topicId = host.image.topicId /\ host.image.inIsr)
    => \A log \in LogsAt(host.replica.directory) : log.complete

(* A replica is out of the ISR when the controller has heard that its       *)
(* directory has failed.                                                    *)
OfflineDirNeverLeads ==
  (/\ Follows /\ host.replica.state = "Offline"
   /\ host.replica.directory \in host.reported
   /\ host.replica.topicId = host.image.topicId)
    => ~host.image.inIsr

(* What the controller believes of the replica's directory is so, or        *)
(* becomes so when a move ends.                                             *)
DirectoryIsKnown ==
  (/\ Follows /\ host.replica.state = "Online" /\ host.image.assigned
   /\ host.applied.topicId = host.image.topicId
   /\ host.replica.topicId = host.image.topicId)
    => \/ host.image.directory \in {Unassigned, host.replica.directory}
       \/ host.futureAssigned /\ host.image.directory = host.future

-----------------------------------------------------------------------------
(* Of every step.                                                           *)

(* A proposal that is on its way is dropped only by newer metadata, or with *)
(* the replica.                                                             *)
ProposalKeptStep ==
  (/\ host.replica.state = "Online" /\ host'.replica.state = "Online"
   /\ host'.replica.topicId = host.replica.topicId
   /\ host.replica.pending /\ ~host'.replica.pending)
    => host'.replica.partitionEpoch > host.replica.partitionEpoch
=============================================================================
