"""The sentence that ends a counterexample of TLC: what is wrong in its last state, of whom.

The last two states are read as rows of the reference (rows.py), and its property of the same name
is asked what is wrong with them. Where that says nothing (what lasts for ever is wrong in no state,
and a model may not show all that the property looks at) the sentence is what the property promises.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kraftcheck.osutil.files import read_text
from kraftcheck.reference.protocols import PROTOCOLS
from kraftcheck.traces.counterexamples.readings import asked_with_of
from tla_utils import Manifest, Model, ToolError
from tla_utils.config import cfg_text
from tla_utils.definitions import definitions
from tla_utils.output import State
from tla_utils.settings import constants_of


def ending(manifest: Manifest, model: Model, name: str | None, states: Sequence[State]) -> str:
    """Say in one sentence what is wrong at the end of a counterexample; "" if nothing is.

    states: at least the last two, or the only one.
    """
    if not name or not states:
        return ""
    wrong = _wrong(manifest, model, name, states)
    if wrong:
        return f"{name} is broken: {wrong}"
    said = sentence_of(manifest, model, name)
    return f"{name} is broken, which says: {said}" if said else f"{name} is broken"


def _wrong(manifest: Manifest, model: Model, name: str, states: Sequence[State]) -> str:
    """Say what the reference's property finds in the last state.

    "" if there is no such property, or if it finds nothing in this state.
    """
    protocol = protocol_of(manifest, model)
    check = next((p.check for p in _properties(protocol) if p.name == name), None)
    read = asked_with_of(protocol)
    if check is None or read is None:
        return ""
    try:
        cfg = constants_of(cfg_text(model.config))
        before, after = states[max(len(states) - 2, 0)].values, states[-1].values
        return check(*read(cfg, before, after, model.bug)) or ""
    # A model of one's own may show other variables, rows of another form, or other constants.
    except (LookupError, AttributeError, TypeError, ValueError, ToolError):
        return ""


def _properties(protocol: str) -> Sequence[Any]:
    for own in PROTOCOLS:
        if own.name == protocol:
            return own.properties or (own.world.properties if own.world is not None else ())
    return ()


def protocol_of(manifest: Manifest, model: Model) -> str:
    """The protocol in whose folder its module lies; "" if that is nowhere."""
    names = {protocol.name for protocol in PROTOCOLS}
    for folder in manifest.libraries:
        if (folder / f"{model.module}.tla").is_file():
            return next((part for part in reversed(folder.parts) if part in names), "")
    return ""


def sentence_of(manifest: Manifest, model: Model, name: str) -> str:
    """Say what a property means, in the words of the reference.

    Otherwise in the comment above it in the specification; "" if neither is there.
    """
    for each in _properties(protocol_of(manifest, model)):
        if each.name == name:
            return str(each.sentence)
    found = [
        (_remark_above(text[: each.start]), " ".join(each.body.split()))
        for folder in manifest.libraries
        for text in map(read_text, sorted(folder.glob("*.tla")))
        for each in definitions(text)
        # What is asked of steps is defined apart from that it is asked of every step.
        if each.name in (name, f"{name}Step")
    ]
    bodies = [body for _, body in found]
    return next((remark for remark, _ in found if remark), bodies[0] if bodies else "")


def _remark_above(text: str) -> str:
    """Without the number of a rule, and without what is in brackets behind it."""
    lines: list[str] = []
    for line in reversed(text.splitlines()):
        if not (line.startswith("(*") and line.endswith("*)")):
            break
        lines.insert(0, line[2:-2].strip())
    words = re.sub(r"^[A-Z]\d+\. ", "", " ".join(" ".join(lines).split()))
    return words.partition(" (")[0]
