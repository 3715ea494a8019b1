--------------------------- MODULE MCDirectories ---------------------------
(***************************************************************************)
(* Bounded models of a partition whose replicas are in directories that     *)
(* fail. As in MCMoving, no broker crashes. A heartbeat is sent only if it  *)
(* reports a new failed directory, and is answered at once.                 *)
(***************************************************************************)
EXTENDS DirectoryProperties, MCMoving

CONSTANT MaxFailures

Fail(n) ==
  /\ Spend("failures", MaxFailures)
  /\ \E d \in Directories :
       \E o \in Step_HandleLogDirFailure(n, rows[n], [type |-> "LogDirFailure",
                                                      directory |-> d]) :
         Become([rows EXCEPT ![n] = o.row], controller, o.sent)

Name(n) ==
  /\ controller.disks[n].online \cap (Directories \ rows[n].online) # {}
  /\ \E asked \in Step_HandleSendHeartbeat(n, rows[n], [type |-> "SendHeartbeat"]) :
       \E m \in asked.sent :
         \E o \in Step_HandleHeartbeatRequest(Controller, controller, m) :
           \E reply \in o.sent \ RecordsIn(o.sent) :
             \E heard \in Step_HandleHeartbeatResponse(n, asked.row, reply) :
               Become([rows EXCEPT ![n] = heard.row], o.row, RecordsIn(o.sent) \cup heard.sent)

Assign(n) ==
  \E asked \in Step_HandleSendAssignReplicasToDirs(n, rows[n],
                 [type |-> "SendAssignReplicasToDirs"]) :
    \E m \in asked.sent : ByController(Step_HandleAssignReplicasToDirs(Controller, controller, m))

MCDirectoriesNext ==
  \/ MCNext
  \/ \E n \in Brokers : Fail(n)
  \/ UNCHANGED spent /\ \E n \in Brokers : Name(n) \/ Assign(n)

(* The first leader is elected, and everybody has heard of it.              *)
MCDirectoriesInit ==
  LET elected == CHOOSE o \in Step_HandleElectLeaders(Controller, InitialDirectoryController,
                                                      [election |-> "UNCLEAN"]) : TRUE
      records == (CHOOSE m \in elected.sent : TRUE).records
      told(n) == CHOOSE o \in Step_HandleMetadataUpdate(n, InitialDirectoryRow(n),
                   [type |-> "MetadataUpdate", offset |-> InitialOffset, records |-> records]) :
                   TRUE
  IN /\ rows = [n \in Brokers |-> told(n).row]
     /\ controller = elected.row
     /\ metadata = records
     /\ network = {}
     /\ HistoryInit
     /\ spent = [records |-> 0, targets |-> 0, cancels |-> 0, lags |-> 0, changes |-> 0,
                 failures |-> 0]

MCDirectoriesSpec == MCDirectoriesInit /\ [][MCDirectoriesNext]_mcVars

-----------------------------------------------------------------------------
(* For the twins: as Z139 and Z137.                                         *)
NothingIsForgotten(row) == FALSE
MadeAnywhere(row) == TRUE

(* Probes: that these never happen is refuted.                              *)
NobodyIsMadeAnew ==
  ~\E n \in Brokers :
     rows[n].directory # FirstDirectory /\ rows[n].role = "Follower" /\ rows[n].log # <<>>
NoLeaderFails ==
  ~(Len(committed) > 0 /\ \E n \in Brokers : rows[n].role = "Leader" /\ rows[n].leaderEpoch > 1
      /\ \E m \in Brokers \ {n} : IsOffline(rows[m]) /\ rows[m].log # <<>>)
=============================================================================
