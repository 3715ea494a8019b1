"""Drivers: each chooses the moves of a system (reference/core/system.py), and does nothing else.

Reading order: options, chance, composed; clock, joined; script; telling.
"""
