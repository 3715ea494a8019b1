----------------------- MODULE Z175ExpiresWhatIsOpen -----------------------
(* Z175: an id is forgotten by its age alone, whatever is under way (X27).  *)
EXTENDS TransactionRules

Z175_MayExpire(row) ==
  IdsExpire /\ row.pending.state = "None" /\ row.txn.state # "Dead"
============================================================================
