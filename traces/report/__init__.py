"""One self-contained page about a run's folder, made from its artifacts alone.

Reading order: evidence.py (what the artifacts say), plots.py (figures as SVG), page.py (the page).
"""
