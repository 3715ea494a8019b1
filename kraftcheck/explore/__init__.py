"""`explore`: a page in a browser on which a person chooses the moves of a protocol.

Reading order: played (a path of moves and what it led to), walking (moves by chance), likelihood
(when a failure became inevitable), server (the page's requests).
"""
