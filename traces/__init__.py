"""Recorded runs of the reference: their format, and what is made of them."""
