---- MODULE MCZ122StopsAtLongerLog ----
EXTENDS MCSnapshots, Z122StopsAtLongerLog
====
