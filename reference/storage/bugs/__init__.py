"""Known bugs of the storage engine: each replaces a rule of rules.py."""
