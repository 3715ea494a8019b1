"""Known bugs, each as one or more rules replaced; core knows of none of them.

catalog.py is the authority on what each bug is, breaks and needs; one file per bug holds the rules
that it replaces.
"""
