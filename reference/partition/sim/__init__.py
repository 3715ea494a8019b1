"""One partition, its brokers and its controller in the simulator's world.

Reading order: options, scenario; machine; pace, network, losses; world; clients, trouble; progress,
scheduler.
"""
