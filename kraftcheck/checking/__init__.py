"""`check`: a history against what was promised to its clients, log by log and object by object.

Reading order: options (what is asked, and where pages go); terms (what was promised, and how that
is known); logs, objects, judge (which of the two); command.
"""
