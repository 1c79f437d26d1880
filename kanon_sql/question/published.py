"""The spec of a table that is published.

Either the records are given, from which its cells are counted or summed, or the table itself, with
one row a cell.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from kanon_sql.errors import SpecError, did_you_mean, option
from kanon_sql.models.base import CellModel, Count, FirstRecords, Model
from kanon_sql.models.catalogue import CELL_MODELS
from kanon_sql.question.hierarchy import GeneralizationHierarchy, parse_builder
from kanon_sql.question.other_tables import AGAINST
from kanon_sql.question.policy import Confidential, NotAsked, Policies, Policy
from kanon_sql.question.question_parts import (
    AgainstSpec,
    AnyCheck,
    CheckSchema,
    ColumnNames,
    Encoding,
    Source,
    SpecPart,
    Text,
    Totals,
    Written,
    faults_of_roles,
    names,
)

NULL = "NULL"
"""How an option spells NULL; the text is written in quotes."""

Bound = Decimal | None


class Mark(NamedTuple):
    """What stands in place of a suppressed figure, and the range that it tells; None is NULL."""

    text: str | None
    low: Bound = None
    high: Bound = None


def text_or_null(text: str) -> str | None:
    """The text that an option means.

    >>> text_or_null("NULL"), text_or_null('"NULL"'), text_or_null("*")
    (None, 'NULL', '*')
    """
    if text == NULL:
        return None
    is_quoted = len(text) >= 2 and text[0] == text[-1] == '"'
    return text[1:-1].replace('""', '"') if is_quoted else text


def bounds(text: str) -> tuple[Bound, Bound] | None:
    """The range in `LOW..HIGH`, either end of which may be open; None for any other text.

    >>> bounds("1..9"), bounds("0.."), bounds("..")
    ((Decimal('1'), Decimal('9')), (Decimal('0'), None), (None, None))
    """
    number = r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    match = re.fullmatch(rf"\s*({number})?\s*\.\.\s*({number})?\s*", text)
    if match is None:
        return None
    low, high = (Decimal(group) if group else None for group in match.groups())
    return low, high


def mark_of(text: str) -> Mark:
    """The mark in `MARK[=LOW..HIGH]`.

    >>> mark_of("*=1..9")
    Mark(text='*', low=Decimal('1'), high=Decimal('9'))
    >>> mark_of("a=b").text, mark_of("NULL").text
    ('a=b', None)
    """
    mark, equals, rest = text.rpartition("=")
    range_ = bounds(rest) if equals else None
    if range_ is None:
        return Mark(text_or_null(text))
    return Mark(text_or_null(mark), *_ascending(range_))


def _ascending(range_: tuple[Bound, Bound]) -> tuple[Bound, Bound]:
    low, high = range_
    if low is not None and high is not None and low > high:
        raise SpecError(f"a range goes from {low} down to {high}. Give the lowest value first.")
    return range_


def _range(value: Any) -> tuple[Bound, Bound]:
    """A range as `LOW..HIGH`, as a pair, or None for an open one."""
    if value is None:
        return None, None
    if isinstance(value, str) and (limits := bounds(value)) is not None:
        return _ascending(limits)
    if isinstance(value, list | tuple) and len(value) == 2:
        ends = [None if end is None else _decimal(end) for end in value]
        return _ascending((ends[0], ends[1]))
    raise ValueError("must be a range, as in [1, 9] or [null, 9]")


def _decimal(value: Any) -> Decimal:
    text = str(value)
    if isinstance(value, bool) or not re.fullmatch(
        r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", text
    ):
        raise ValueError("must be a range of numbers, as in [1, 9]")
    return Decimal(text)


def _marks(value: Any) -> Any:
    """Marks by their text, each with a range; a list of them has none."""
    if isinstance(value, str) or value is None:
        return (Mark(value),)
    if isinstance(value, Mapping):
        return tuple(
            Mark(None if mark is None else str(mark), *_range(range_))
            for mark, range_ in value.items()
        )
    if isinstance(value, list | tuple):
        return tuple(mark if isinstance(mark, Mark) else Mark(mark) for mark in value)
    raise ValueError('must be marks with what they say, as in {"*": [1, 9], c: null}')


def _total_labels(value: Any) -> Any:
    """One label for all dimensions, or a label for each; None is the NULL of GROUPING SETS."""
    if isinstance(value, str):
        return {"*": value}
    return {"*": None} if value is None else value


def _margins(value: Any) -> Any:
    """`all`, `none`, or the lists of dimensions whose margins are published."""
    if value in ("all", "none"):
        return value
    is_list = isinstance(value, list | tuple)
    if not is_list or not all(isinstance(margin, str | list | tuple) for margin in value):
        raise ValueError("must be all, none, or lists of dimensions, as in [[region], []]")
    return tuple(tuple(names(margin)) for margin in value)


def _hierarchies(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {
        name: parse_builder(str(levels)) if isinstance(levels, str | Path) else levels
        for name, levels in value.items()
    }


def _of_cells(check: Any) -> Any:
    if not isinstance(check, CellModel):
        raise ValueError(
            f"{check.name()} is a model of records, which kanon-sql audit checks. Models of "
            f"cells: {', '.join(CELL_MODELS)}."
        )
    return check


def _allow_builders(schema: dict[str, Any]) -> None:
    """Let the JSON Schema of hierarchies take a file or a builder as text too."""
    schema["additionalProperties"] = {"anyOf": [{"type": "string"}, schema["additionalProperties"]]}


Hierarchies = Annotated[
    dict[str, GeneralizationHierarchy],
    BeforeValidator(_hierarchies),
    Field(json_schema_extra=_allow_builders),
]
_NUMBER_OR_OPEN = {"type": ["number", "null"]}
_RANGE = {"type": "array", "items": _NUMBER_OR_OPEN, "minItems": 2, "maxItems": 2}
Range = Annotated[
    tuple[Bound, Bound],
    BeforeValidator(_range),
    WithJsonSchema({"anyOf": [_RANGE, {"type": ["string", "null"]}]}),
]
_TEXTS = {"type": "array", "items": {"type": "string"}}
_TEXT_OR_NULL = {"type": ["string", "null"]}
Marks = Annotated[
    tuple[Mark, ...],
    BeforeValidator(_marks),
    PlainSerializer(lambda marks: {mark.text: [mark.low, mark.high] for mark in marks}),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string"},
                _TEXTS,
                {"type": "object", "additionalProperties": {"anyOf": [_RANGE, _TEXT_OR_NULL]}},
            ]
        }
    ),
]
TotalLabels = Annotated[
    dict[str, str | None],
    BeforeValidator(_total_labels),
    WithJsonSchema({"anyOf": [_TEXT_OR_NULL, {"additionalProperties": _TEXT_OR_NULL}]}),
]
Margins = Annotated[
    Literal["all", "none"] | tuple[tuple[str, ...], ...],
    BeforeValidator(_margins),
    WithJsonSchema(
        {
            "anyOf": [
                {"enum": ["all", "none"]},
                {"type": "array", "items": {"anyOf": [{"type": "string"}, _TEXTS]}},
            ]
        }
    ),
]
CellCheck = Annotated[AnyCheck, AfterValidator(_of_cells), CheckSchema(CELL_MODELS)]
Absent = Literal["zero", "suppressed"]


class PublishedSpec(SpecPart, BaseModel):
    """A table that is published, with the rules for its cells."""

    source: Source
    """A file, a glob or a table name; in Python also the data itself, which no repr shows."""
    name: Text | None = None
    """The table's name in the result; default: the name of the file or table."""
    connect: Annotated[str | None, Field(repr=False)] = None
    """The URL of the table's database; without it, the source is a file."""
    cells: bool = False
    """The table itself is given, one row a cell, and not its records."""
    by: ColumnNames
    """The dimensions of the table."""
    value: Text | None = None
    """The magnitude that is summed; of a published table, the figure of a cell."""
    contributor: Text | None = None
    """The column that identifies whose value it is; by default each record is a contributor."""
    weight: Text | None = None
    """The survey weight column, assumed to be confidential."""
    hierarchies: Hierarchies = {}
    """The hierarchy of a dimension, whose levels have subtotals."""
    hierarchy_faults: Literal["error", "warn"] = "error"
    """If a hierarchy is not a tree: refuse it as an error (default), or warn."""
    margins: Margins = "all"
    """What is published beside the inner cells, from records: all margins (default), none, or those
    over these dimensions; the empty list is the grand total."""
    suppressed: Marks = ()
    """What stands in place of a suppressed figure, with the range that it tells."""
    total_label: TotalLabels = {}
    """What stands in a dimension for its total; NULL as printed by GROUPING SETS.

    By dimension, or one for all ("*"); null is NULL."""
    total_flag: dict[str, str] = {}
    """The column that is 1 where a dimension is a total, as grouping() gives it."""
    count: Text | None = None
    """The column with the number of contributors beside a magnitude."""
    magnitude: bool = False
    """The figure of a cell is a sum, not a count."""
    value_bounds: Range = (Decimal(0), None)
    """What everyone knows of any figure: 0.. by default, .. where it may be negative."""
    absent: Absent = "zero"
    """A combination without a row: zero (default), or suppressed."""
    totals: Totals | None = None
    """What totals are: true, the sums of all their parts (default); shown, calculated anew from
    what is shown; or rounded to a base, each on its own."""
    against: dict[str, AgainstSpec] = {}
    """Second tables to compare with, by name."""
    where: Text | None = None
    """A SQL condition; only the rows that satisfy it are read."""
    first: FirstRecords | None = None
    """Read only the first N rows, in the order of the file."""
    null_strings: ColumnNames = []
    """Text read as NULL in a text file, besides the empty field."""
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] | None = None
    """The character that separates the fields of a text file; detected on its first line by
    default."""
    decimal: Literal[".", ","] = "."
    """The mark before the decimals of a text file's numbers."""
    header: bool | None = None
    """Whether the first line of a text file names its columns; required if that line looks like a
    record."""
    encoding: Encoding | None = None
    """The encoding of a text file, any codec of Python, such as cp1252 or utf-16; UTF-8 by
    default."""
    skip: Count | None = None
    """How many lines of a text file stand above its header, such as a title."""
    dates: Written | None = None
    """How a file or data frame writes dates as text: dmy, mdy, ymd or a pattern such as %d.%m.%Y,
    for all columns or of one."""
    thousands: Literal[".", ",", " ", "'", "space"] | None = None
    """What separates the thousands of a published figure, as in 1.049; a point makes the comma the
    mark of decimals."""
    flags: bool = False
    """Letters behind a published figure are flags, as in 12 b, and are left out."""
    wide: Text | None = None
    """The dimension whose categories are the columns of the table (a crosstab); its figures are
    then called by the value."""
    checks: list[CellCheck] = []
    """The rules to check."""
    policy: Policies = []
    """The rules of an institution, by identifier (kanon-sql policy lists them) or file."""
    confidential: Confidential = []
    """Parameters that an external audience must not see, as in dominance.k."""

    @property
    def required_checks(self) -> list[Model]:
        """The checks, and those of the policies that this table can answer."""
        checks: list[Model] = list(self.checks)
        for policy in self.policy:
            checks += [model for model in self.required_by(policy)[0] if model not in checks]
        return checks

    def required_by(self, policy: Policy) -> tuple[list[Model], list[NotAsked]]:
        """The checks of a policy, and its rules that this table can't answer."""

        def reason_against(check: Model) -> str | None:
            return (
                next(self._reasons_against(check), None) if isinstance(check, CellModel) else None
            )

        return policy.of_cells(self.checks, reason_against, list(self.against))

    @property
    def is_magnitude(self) -> bool:
        """Whether a figure is a sum, and not a count."""
        if self.cells:
            return self.magnitude or self.count is not None
        return self.value is not None

    @property
    def declared_totals(self) -> str | None:
        """What totals are, as the spec says, or else a policy; None where nobody does."""
        if self.totals is not None or not self.cells:
            return self.totals
        return next((policy.totals for policy in self.policy if policy.totals), None)

    @property
    def label(self) -> str:
        """The source in words."""
        return self.name or str(self.source)

    def total_label_of(self, dimension: str) -> tuple[bool, str | None]:
        """Whether a label stands for the total of a dimension, and which; None is NULL."""
        folded = {name.casefold(): label for name, label in self.total_label.items()}
        key = dimension.casefold() if dimension.casefold() in folded else "*"
        return key in folded, folded.get(key)

    def _faults_of_figures(self) -> Iterator[str]:
        for key in ("thousands", "flags", "wide"):
            if getattr(self, key) and not (self.cells and self.value):
                yield (
                    f"{option(key)} is for the figures of a published table: add "
                    f"{option('published', True)} and {option('value')}."
                )
        if self.thousands == self.decimal == ",":
            yield "thousands and decimal are both a comma. Give each its own mark."
        if self.wide and self.wide.casefold() not in map(str.casefold, self.by):
            yield f"{option('wide')} names no dimension: {self.wide} is not among {option('by')}."

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for fault in filter(None, self._faults()):
            raise ValueError(fault)
        return self

    def _faults(self) -> Iterator[str]:
        if not self.by:
            yield "by names no dimension; name at least one, as in by: [region]."
        yield from self._faults_of_figures()
        roles = [
            *((column, "a dimension") for column in self.by),
            *((column, role) for column, role in self._named_columns() if column is not None),
        ]
        yield "\n".join(faults_of_roles(roles, {"by": self.by}, str.casefold))
        yield from self._misplaced_settings()
        of_cells = (check for check in self.checks if isinstance(check, CellModel))
        reasons = (next(self._reasons_against(check), None) for check in of_cells)
        yield "\n".join([*self._unknown_dimensions(), *filter(None, reasons)])
        for policy in self.policy:
            self.required_by(policy)
        words = {policy.totals: policy.policy for policy in self.policy if policy.totals}
        if self.totals is None and self.cells and len(words) > 1:
            apart = " and ".join(f"{totals} by {policy}" for totals, policy in words.items())
            yield f"totals are {apart}. Say what they are: {option('totals')}."

    def _named_columns(self) -> Sequence[tuple[str | None, str]]:
        return (
            (self.value, "the value"),
            (self.contributor, "the contributor"),
            (self.weight, "the weight"),
            (self.count, "the count"),
        )

    def _misplaced_settings(self) -> Iterator[str]:
        """Settings of a published table beside records, and the other way round."""
        if self.cells:
            subject = self._subject_of("contributor", "weight", "margins")
            if subject:
                yield (
                    f"{subject} for the records of a table, and {option('published')} says that "
                    "this is the table itself. Leave out one of the two."
                )
            if self.value is None:
                yield (
                    "a table that is published needs the column with the figure of a cell: "
                    f"{option('value')}."
                )
            return
        subject = self._subject_of(
            "suppressed", "total_label", "total_flag", "count", "magnitude", "absent", "totals"
        )
        if subject:
            yield (
                f"{subject} for a table that is published, one row a cell, and this is read as "
                f"records. Add {option('published')}, or leave it out."
            )
        if self.weight is not None and self.value is None:
            yield f"{option('weight')} needs a magnitude that it weights: {option('value')}."

    def _subject_of(self, *keys: str) -> str:
        """The settings among `keys` that the spec has, as the subject of a sentence, or empty."""
        set_keys = [key for key in keys if key in self.model_fields_set and getattr(self, key)]
        options = " and ".join(option(key) for key in set_keys)
        return f"{options} {'is' if len(set_keys) == 1 else 'are'}" if set_keys else ""

    def _unknown_dimensions(self) -> Iterator[str]:
        dimensions = {column.casefold() for column in self.by}
        named = [
            *(("hierarchies", name) for name in self.hierarchies),
            *(("total_label", name) for name in self.total_label if name != "*"),
            *(("total_flag", name) for name in self.total_flag),
            *(
                ("margins", name)
                for margin in (() if isinstance(self.margins, str) else self.margins)
                for name in margin
            ),
            *((f"against {key}", name) for key, other in self.against.items() for name in other.by),
            *(
                (f"{check.name()}: along", name)
                for check in self.checks
                if isinstance(check, CellModel)
                for name in check.dimensions
            ),
        ]
        for setting, name in named:
            if name.casefold() not in dimensions:
                yield (
                    f'{setting}: "{name}" is no dimension. Dimensions: {", ".join(self.by)}.'
                    f"{did_you_mean(name, self.by)}"
                )
        with_two_marks = {name.casefold() for name in self.total_flag} & {
            name.casefold() for name in self.total_label
        }
        for name in sorted(with_two_marks):
            yield f'"{name}" has both a total_label and a total_flag; one of them says its total.'

    def _reasons_against(self, check: CellModel) -> Iterator[str]:
        """Why a check can't be asked of this input."""
        name = check.name()
        if check.needs_value and self.cells:
            yield f"{name} needs the records of a table; of published cells it can't be asked."
        elif check.needs_value and self.value is None:
            yield f"{name} needs the magnitude that is summed: {option('value')}."
        if check.needs_cells and not self.cells:
            yield f"{name} is for a table that is published, not for its records."
        lacks_count = self.cells and self.magnitude and self.count is None
        if check.counts_contributors and lacks_count:
            yield f"{name} needs the numbers of contributors beside a magnitude: {option('count')}."
        if check.compares_tables:
            against = getattr(check, AGAINST.key)
            if not self.against:
                yield f"{name} needs a second table: {option('against')}."
            elif against is None and len(self.against) > 1:
                yield (
                    f"{name} is ambiguous with several tables: name one of "
                    f"{', '.join(self.against)} in against."
                )
            elif against is not None and against not in self.against:
                yield (
                    f'{name}: there is no second table "{against}". There are '
                    f"{', '.join(self.against)}.{did_you_mean(against, self.against)}"
                )
