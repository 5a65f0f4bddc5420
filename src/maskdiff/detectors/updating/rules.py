"""Rules about alarms that a person judged fine, once the codes of their cells have moved."""

from __future__ import annotations

from dataclasses import replace

from maskdiff.codes.schema_change import SchemaChange
from maskdiff.detectors.dismissals import CODE, Dismissals, DismissedCell


def moved_rules(rules: Dismissals, change: SchemaChange) -> Dismissals:
    """The same rules about the codes as they are now; tokens are compared by their texts, and have none."""
    number = {name: at for at, name in enumerate(change.after.names)}

    def moved(cell: DismissedCell) -> DismissedCell:
        if cell.code is None:
            return cell
        at = number[cell.column]
        code = int(change.places[at][cell.code])
        text = change.after.fields[at].label(code) if cell.compared == CODE else cell.text
        return replace(cell, code=code, text=text)

    return Dismissals(tuple(replace(rule, cells=tuple(map(moved, rule.cells))) for rule in rules.rules))
