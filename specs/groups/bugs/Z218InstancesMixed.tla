-------------------------- MODULE Z218InstancesMixed ------------------------
(* Z218 (a mutant): any two static members are taken for those of one       *)
(* instance id (G13).                                                       *)
EXTENDS GroupRules

Z218_SharesInstance(m, n) == {m, n} \subseteq UNION Static
=============================================================================
