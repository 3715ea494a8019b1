"""Known bugs, each as one or more rules replaced; handlers know of none of them.

In the folder of its protocol `bugs.py` has the rules that it replaces, and `bugs.toml` says what it
is, breaks and needs: bug.py, then reading.py, then catalog.py, which has all of them.
"""
