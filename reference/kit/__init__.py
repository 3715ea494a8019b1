"""Say what a protocol is, whichever it is.

Fields of rows and what they hold, which handler an input belongs to, and the declaration that
everything else is made from (protocol.py).
"""
