"""The command line: verbs, what they print, and what they exit with. Everything else is below.

Reading order: cli.py (the list of verbs), verbs/ (the options of each), exits.py (how a command
ends), screen.py (what it shows), artifacts.py (where it writes); then the module that does the work
of the verb. It has no knowledge of the protocol: it calls the packages below and says in words what
they return. known_bugs/ holds the known bugs at work.
"""
