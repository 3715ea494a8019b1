"""A node of somebody else's, driven: the kit plays its peers, and seeks what no step has met yet.

Reading order: peers (the states of a run, and its moves), seeking (searched in the reference alone:
moves that lead to decisions), node (a process that speaks JSON lines), driving (the verb).
"""
