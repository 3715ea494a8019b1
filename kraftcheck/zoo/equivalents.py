"""Mutants of the specs that no model and no step can tell from the correct spec, with the argument.

An argument says why the guard decides nothing in what the spec can reach: another guard says the
same before it, or what it protects cannot occur. It is an argument and no proof; what was explored
stands in mutants.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

EQUIVALENT: Mapping[tuple[str, str, str], str] = MappingProxyType({})
"""By decision, kind of mutant and guard: the argument, in a sentence."""
