---- MODULE MCZ121KeepsLog ----
EXTENDS MCSnapshots, Z121KeepsLog
====
