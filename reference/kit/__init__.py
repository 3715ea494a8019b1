"""What a protocol is, whichever it is: fields of rows and what they hold, which handler an input
belongs to, and the declaration that everything else is made from (protocol.py).
"""
