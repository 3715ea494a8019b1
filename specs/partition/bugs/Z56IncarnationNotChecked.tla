---------------------- MODULE Z56IncarnationNotChecked -----------------------
(* Z56: the reply to a registration is believed whichever incarnation asked: *)
(* a broker that has just begun anew takes the epoch of its previous life.   *)
EXTENDS PartitionRules

Z56_RegistrationAccepted(row, m) == row.controllerRequest.type = "RegisterBrokerRequest"
==============================================================================
