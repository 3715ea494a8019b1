----------------------------- MODULE Z91AckMissed ----------------------------
(* Z91 (KAFKA-16249): where a heartbeat makes a new target, nobody looks at *)
(* what it says the member has; it will not say so again (G16, G17).        *)
EXTENDS GroupRules

Z91_RevocationBlocks(member, m, retargeted) == retargeted \/ ~HasRevoked(member.pending, m)
=============================================================================
