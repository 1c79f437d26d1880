"""Workbooks of office programs, data files of statistics programs.

python-calamine and pyreadstat read them, cell for cell; a column gets the one type that all its
values have, or text. Nothing is guessed: one sheet of several is to be named; a blank row, merged
cells and formulas without a value are refused.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from itertools import chain
from typing import Any, NamedTuple
from xml.etree import ElementTree

from kanon_sql.engines.duckdb.csv_files import is_index, numbered_names, require_column_names
from kanon_sql.engines.duckdb.doubtful_headers import FIRST_RECORDS, require_names
from kanon_sql.engines.failures import required
from kanon_sql.engines.readers import TextOptions, damaged
from kanon_sql.errors import InputError, MissingDriverError, SpecError, did_you_mean, option
from kanon_sql.files import OFFICE, OfficeFile, foreign_format

Cells = list[Any]
"""The cells of a row or of a column; None where there is no value."""

_RANGE = re.compile(r"([A-Z]{1,3})([1-9][0-9]*):([A-Z]{1,3})([1-9][0-9]*)", re.IGNORECASE)
_UNCOMPUTED = re.compile(rb"(?:</(?:\w+:)?f>|<(?:\w+:)?f\b[^>]*/>)\s*</(?:\w+:)?c>")
"""A formula that ends its cell, so that no value is stored."""
_EXACT = 2**53
"""The least whole number from which a float may stand for several."""


class OfficeTable(NamedTuple):
    """The records of files as an Arrow table."""

    frame: Any
    has_index: bool = False
    """Whether the first column has no name, and is called column_1."""


class _Columns(NamedTuple):
    """The columns of a file."""

    names: tuple[str, ...]
    columns: list[Cells]
    has_index: bool = False


def read_office(place: OfficeFile, files: Sequence[str], text: TextOptions) -> OfficeTable:
    """The records of workbooks, or of data files of a statistics program, in order.

    Raises `InputError` for what can't be read as it stands, and `MissingDriverError`.
    """
    kind = OFFICE[place.suffix]
    pyarrow, reader = _libraries(place, kind)
    tables = [
        _sheet(reader, file, place.part, text)
        if kind == "sheet"
        else _data_file(reader, kind, file, place.part, text)
        for file in files
    ]
    names = tables[0].names
    for file, table in zip(files, tables, strict=True):
        if table.names != names:
            raise InputError(
                f"{file} has other columns than {files[0]}. Files read as one table need the same "
                "columns."
            )
    nulls = {"", *text.null_strings}
    parts = zip(*(table.columns for table in tables), strict=True)
    columns = [
        [None if isinstance(cell, str) and cell in nulls else cell for cell in chain(*part)]
        for part in parts
    ]
    if kind == "sheet":
        for name, column in zip(names, columns, strict=True):
            _require_exact(files[0], name, column)
    arrays = [_array(pyarrow, column) for column in columns]
    return OfficeTable(pyarrow.table(arrays, names=list(names)), tables[0].has_index)


def _libraries(place: OfficeFile, kind: str) -> tuple[Any, Any]:
    """pyarrow, and the library that reads a file."""
    foreign = foreign_format(place.path)
    assert foreign is not None
    library = "python-calamine" if kind == "sheet" else "pyreadstat"
    needs = f"{place.path} is a file of {foreign.program}, which {library} reads"
    try:
        return (
            required("pyarrow", needs, extra="files"),
            required(library.replace("-", "_"), needs, extra="files"),
        )
    except MissingDriverError as error:
        raise MissingDriverError(
            f"{error.marked}. Or save it as CSV UTF-8. {foreign.way_out}"
        ) from None


# --- types ----------------------------------------------------------------------------------


def _array(pyarrow: Any, cells: Cells) -> Any:
    """The cells as an Arrow array of the type that all have, else as text."""
    kinds = {type(cell) for cell in cells if cell is not None}
    if kinds == {bool}:
        return pyarrow.array(cells, pyarrow.bool_())
    if kinds and kinds <= {int, float}:
        are_whole = all(cell is None or float(cell).is_integer() for cell in cells)
        fit = are_whole and all(cell is None or abs(cell) < _EXACT for cell in cells)
        numbers = [None if cell is None else int(cell) for cell in cells] if fit else cells
        return pyarrow.array(numbers, pyarrow.int64() if fit else pyarrow.float64())
    if kinds == {date}:
        return pyarrow.array(cells, pyarrow.date32())
    if kinds and kinds <= {date, datetime}:
        return pyarrow.array(list(map(_at_midnight, cells)), pyarrow.timestamp("us"))
    if kinds == {time}:
        return pyarrow.array(cells, pyarrow.time64("us"))
    return pyarrow.array([None if cell is None else text_of(cell) for cell in cells], "string")


def _at_midnight(day: date | None) -> datetime | None:
    if day is None or isinstance(day, datetime):
        return day
    return datetime.combine(day, time())


def text_of(cell: Any) -> str:
    """A value as text, where a column has values of several types.

    >>> [text_of(cell) for cell in ("02138", 2138.0, 0.1, True, date(1956, 12, 24), time(7, 30))]
    ['02138', '2138', '0.1', 'TRUE', '1956-12-24', '07:30:00']
    """
    match cell:
        case bool():
            return str(cell).upper()
        case float() if cell.is_integer() and abs(cell) < _EXACT:
            return str(int(cell))
        case date() | time():
            return cell.isoformat(*(" " for _ in range(isinstance(cell, datetime))))
        case timedelta():
            return str(cell)
    return str(cell)


def _require_exact(file: str, name: str, cells: Cells) -> None:
    """Refuse whole numbers of more digits than a cell holds: different ones would be one value."""
    if any(isinstance(cell, float) and abs(cell) >= _EXACT for cell in cells):
        raise InputError(
            f'{file}: column "{name}" has numbers above 2^53, of which a workbook keeps 15 digits. '
            "Write them as text."
        )


# --- sheets ---------------------------------------------------------------------------------


class _Area(NamedTuple):
    """A part of a sheet, counted from 0, its ends excluded."""

    top: int = 0
    left: int = 0
    bottom: int | None = None
    right: int | None = None


def _sheet(calamine: Any, file: str, part: str, text: TextOptions) -> _Columns:
    """The columns of a sheet, or of a range of it."""
    name, area = _place(part)
    try:
        workbook = calamine.load_workbook(file)
        sheet = workbook.get_sheet_by_name(_sheet_name(file, workbook, name, part))
        grid = sheet.to_python(skip_empty_area=False)
        merged = sheet.merged_cell_ranges or ()
    except InputError:
        raise
    except Exception as error:
        if "assword" in type(error).__name__:
            raise InputError(f"{file} is protected by a password. Save it without.") from None
        raise damaged(file, "a workbook") from None
    skipped = text.skip if isinstance(text.skip, int) else 0
    top = area.top + skipped
    rows = [row[area.left : area.right] for row in grid[top : area.bottom]]
    while rows and _is_blank(rows[0]):
        del rows[0]
        top += 1
    while rows and _is_blank(rows[-1]):
        rows.pop()
    if not rows:
        raise InputError(f"{file}: sheet {sheet.name} is empty there, so it has no columns.")
    if any(_is_uncomputed(file, sheet.name)):
        raise InputError(
            f"{file}: sheet {sheet.name} has formulas whose values are not stored. Open it in a "
            "program that computes them, and save it."
        )
    for (first, left), (last, right) in merged:
        in_columns = right >= area.left and (area.right is None or left < area.right)
        if in_columns and last >= top and first < top + len(rows):
            raise InputError(
                f"{file}: row {first + 1} of sheet {sheet.name} has merged cells, of which only "
                "one has the value. Unmerge them and fill in each."
            )
    for number, row in enumerate(rows, start=top + 1):
        if _is_blank(row):
            raise InputError(
                f"{file}: row {number} of sheet {sheet.name} is blank. Remove it, or name the "
                "range of the table, as in book.xlsx#Sheet1!A3:F900."
            )
    return _named(file, rows, text)


def _place(part: str) -> tuple[str, _Area]:
    """The sheet and the area of what follows the # of a path.

    >>> _place("Sheet1!A3:F900"), _place("A1:B2")[0], _place("'My sheet'")[0]
    (('Sheet1', _Area(top=2, left=0, bottom=900, right=6)), '', 'My sheet')
    """
    name, mark, cells = part.rpartition("!")
    match = _RANGE.fullmatch(cells)
    if match is None:
        if mark:
            raise SpecError(f"{cells!r} is not a range of cells, as in A3:F900.")
        return part.strip("'"), _Area()
    left, top, right, bottom = match.groups()
    area = _Area(int(top) - 1, _number(left) - 1, int(bottom), _number(right))
    if area.top >= int(bottom) or area.left >= _number(right):
        raise SpecError(f"{cells!r} ends before it begins. Write its upper left cell first.")
    return name.strip("'"), area


def _number(letters: str) -> int:
    """The number of a column.

    >>> _number("A"), _number("Z"), _number("AA")
    (1, 26, 27)
    """
    number = 0
    for letter in letters.upper():
        number = 26 * number + ord(letter) - ord("A") + 1
    return number


def _sheet_name(file: str, workbook: Any, name: str, part: str) -> str:
    names: list[str] = list(workbook.sheet_names)
    if name in names:
        return name
    if name:
        raise InputError(
            f"{file} has no sheet {name!r}. Its sheets: {', '.join(names)}."
            f"{did_you_mean(name, names)}"
        )
    filled = [each for each in names if workbook.get_sheet_by_name(each).height]
    if len(filled) > 1:
        example = f"{file}#{filled[0]}{'!' if part else ''}{part}"
        raise InputError(
            f"{file} has {len(filled)} sheets: {', '.join(filled)}. Name one, as in '{example}'."
        )
    return (filled or names)[0]


def _is_blank(row: Iterable[Any]) -> bool:
    return all(cell == "" for cell in row)


def _named(file: str, rows: list[Cells], text: TextOptions) -> _Columns:
    """The columns of rows, of which the first has their names unless the options say otherwise."""
    used = [n for n in range(len(rows[0])) if any(row[n] != "" for row in rows)]
    rows = [[row[n] for n in used] for row in rows]
    if text.header is False:
        return _Columns(numbered_names(len(used)), list(map(list, zip(*rows, strict=True))))
    names = tuple(map(text_of, rows.pop(0)))
    first = [list(map(text_of, row)) for row in rows[:FIRST_RECORDS]]
    has_index = is_index(names, first, is_declared=text.header is True)
    names = (*numbered_names(1), *names[1:]) if has_index else names
    if text.header is None:
        require_names(file, names, first)
    require_column_names(file, names)
    columns = list(map(list, zip(*rows, strict=True))) if rows else [[] for _ in names]
    return _Columns(names, columns, has_index)


_NAMESPACES = {
    "s": "http://schemas.openxmlformats.org/spreadsheetml/2006/main",
    "r": "http://schemas.openxmlformats.org/package/2006/relationships",
}
_ID = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id"


def _is_uncomputed(file: str, sheet: str) -> Iterator[bool]:
    """Whether a sheet of Excel's XML has formulas without a stored value."""
    if not zipfile.is_zipfile(file):
        return
    with zipfile.ZipFile(file) as packed:
        if "xl/workbook.xml" not in packed.namelist():
            return
        workbook = ElementTree.fromstring(packed.read("xl/workbook.xml"))
        related = ElementTree.fromstring(packed.read("xl/_rels/workbook.xml.rels"))
        targets = {each.get("Id"): each.get("Target", "") for each in related}
        for each in workbook.iterfind("s:sheets/s:sheet", _NAMESPACES):
            if each.get("name") == sheet:
                target = targets.get(each.get(_ID), "").lstrip("/")
                path = target if target.startswith("xl/") else f"xl/{target}"
                yield path in packed.namelist() and bool(_UNCOMPUTED.search(packed.read(path)))


# --- statistics programs --------------------------------------------------------------------


def _data_file(pyreadstat: Any, reader: str, file: str, part: str, text: TextOptions) -> _Columns:
    """The columns of a data file of Stata, SPSS or SAS: codes without their labels."""
    if part or text.skip or text.header is not None:
        raise SpecError(
            f"{file} names its columns and has no sheets: leave out {option('skip')}, "
            f"{option('header')} and what follows a #."
        )
    read: Callable[..., Any] = getattr(pyreadstat, reader)
    settings: dict[str, Any] = {"output_format": "dict"}
    if reader not in ("read_por", "read_xport"):
        # SPSS's own missing values stay codes; .a to .z of Stata and SAS become letters.
        settings["user_missing"] = True
    if isinstance(text.encoding, str):
        settings["encoding"] = text.encoding
    try:
        columns, _ = read(file, **settings)
    except UnicodeDecodeError:
        columns = None
    except Exception as error:
        if "encoding" not in str(error) and "convert string" not in str(error):
            raise damaged(file, foreign_format(file).program) from None  # type: ignore[union-attr]
        columns = None
    if columns is None:
        raise InputError(
            f"{file} has text in another encoding. Name it, as in {option('encoding', 'cp1252')}."
        )
    require_column_names(file, tuple(columns))
    return _Columns(tuple(columns), [list(column) for column in columns.values()])
