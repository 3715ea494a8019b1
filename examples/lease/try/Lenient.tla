---- MODULE Lenient ----
EXTENDS Lease
Lenient_MayWrite(row, m) == m.token + 1 >= row.written
====
