----------------------- MODULE Z137CreatedBesideFailed -----------------------
(* Z137 (KAFKA-16234): a replica whose directory has failed is made anew in *)
(* another.                                                                 *)
EXTENDS HostingRules

Z137_MayCreate(row) ==
  TRUE
==============================================================================
