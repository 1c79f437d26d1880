"""Names of a release's views, and reserved names that the user's tables and columns may not
have."""

from __future__ import annotations

import re

from kanon_sql.anonymizing.search.qi_levels import PRIVATE
from kanon_sql.errors import SpecError, option
from kanon_sql.plan.question import ResolvedQuestion

VIOLATING = "violating_classes"
CLASSES = "classes"
DONORS = "donor_classes"
NUMBERED = "numbered_records"
RELEASE = "release"
IN_ORDER = "release_in_order"
LONGEST_NAME = 40
"""Maximum length of a release's name: Postgres truncates names to 63 bytes, and suffixes must
survive."""
_STEPS = rf"(step_\d+|{VIOLATING}|{CLASSES}|{DONORS}|{NUMBERED}|labels|levels|round_\d+)"
_BESIDE = re.compile(r"kanon_(label_\d+_\d+|class_\d+|levels)", re.IGNORECASE)
"""The helper columns in the views of a local recoding."""
PUBLISHED = "published_records"
RAW = "kanon_raw_"
NUMBER = "kanon_number"
"""The column with a record's position in an order."""


def view_name(name: str) -> str:
    """Name of the release of a table or file.

    >>> view_name("patients"), view_name("2025 visits"), view_name("patients_release")
    ('patients_release', '_2025_visits_release', 'patients_release')
    """
    plain = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_").lower() or "table"
    plain = f"_{plain}" if plain[0].isdigit() else plain
    if re.search(r"released?$", plain) and len(plain) <= LONGEST_NAME:
        return plain
    return f"{plain[: LONGEST_NAME - len('_release')]}_release"


def refuse_taken_names(bound: ResolvedQuestion, name: str, *, shipped: bool) -> None:
    """Raise `SpecError` for a column whose name the views reserve, or for a table that would be
    confused with a view of the release `name`: because it has no schema, or because the views are
    `shipped`, to be created next to it and to the other tables stored there."""
    table = bound.table
    ours = re.compile(rf"{re.escape(name)}(_{_STEPS})?|{PRIVATE}.*", re.IGNORECASE)
    for each in (table, *(other.table for other in bound.others)):
        *schema, own = re.split(r"""["`]\.["`]""", each.sql.strip('"`'))
        is_named = not each.embedded or schema
        if is_named and (shipped or not schema) and ours.fullmatch(own):
            raise SpecError(
                f"{each.name} has the name of a view of the release {name} and would be mistaken "
                f"for it. Call the views something else: {option('view_name')}."
            )
    created = re.compile(rf"{re.escape(name)}(_{_STEPS})?", re.IGNORECASE)
    stored = (bound.spec.name or "", *sorted(table.replaceable)) if shipped else ()
    if taken := next(filter(created.fullmatch, stored), None):
        raise SpecError(
            f"{taken} is a table of the database, and a view of the release {name} would be called "
            f"that too. Call the views something else: {option('view_name')}."
        )
    needed = {"kanon_donated", NUMBER}
    needed |= {f"{RAW}{column.name}".casefold() for column in table.columns}
    for column in table.columns:
        if column.name.casefold() in needed or _BESIDE.fullmatch(column.name):
            raise SpecError(
                f'{table.name} has a column "{column.name}", a name that the views of a release '
                "need for themselves. Rename it."
            )
