"""One partition, its brokers and its controller in the simulator's world.

Reading order: options, scenario; machine; pace, network; run; clients, trouble; progress,
scheduler; beginnings, begun.
"""
