"""One self-contained page about a run's folder, made from its artifacts alone.

Reading order: evidence.py (what the artifacts say), figures.py (as SVG), html.py (of what every
page is made), page.py (the page).
"""
