"""What a real cluster left behind, held against the rules: some of its steps, seen from outside.

Reading order: records.py and image.py (the metadata log), controller.py (its steps); logs.py (what
lies on disks); answers.py, views.py and marks.py (what brokers said when they were asked);
cluster.py (all of a recording).
"""
