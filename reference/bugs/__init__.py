"""Known bugs, each as one or more rules replaced; handlers know of none of them.

One file per bug, in the folder `bugs` of its protocol, says what it is, breaks and needs, and holds
the rules that it replaces; catalog.py finds them.
"""
