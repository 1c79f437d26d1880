"""Workbooks for tests: the XML of cells, as a program would have written it."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_KINDS = {"date": 1, "datetime": 2, "time": 3, "padded": 4}
"""The index of each style, of which `padded` shows 2138 as 02138."""


class Xml(str):
    """The content of a cell as XML, `{}` its reference."""


def styled(number: float, style: str) -> Xml:
    return Xml(f'<c r="{{}}" s="{_KINDS[style]}"><v>{number!r}</v></c>')


FORMULA = Xml('<c r="{}"><f>1+1</f><v>2</v></c>')
UNCOMPUTED = Xml('<c r="{}"><f>1+1</f></c>')
EMPTY_TEXT = Xml('<c r="{}" t="str"><f>A1</f><v></v></c>')
NOT_AVAILABLE = Xml('<c r="{}" t="e"><v>#N/A</v></c>')


def workbook(
    path: Path,
    sheets: Mapping[str, Sequence[Sequence[object]]],
    merged: Sequence[str] = (),
) -> Path:
    """Write sheets of cells: None is no cell, text a text, a number a number, `Xml` itself."""
    names = list(sheets)
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
            '"application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" '
            'ContentType="application/xml"/></Types>',
        )
        packed.writestr("_rels/.rels", _related([("r", "officeDocument", "xl/workbook.xml")]))
        packed.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>'
            + "".join(
                f'<sheet name="{escape(name)}" sheetId="{n}" r:id="s{n}"/>'
                for n, name in enumerate(names, 1)
            )
            + "</sheets></workbook>",
        )
        sheet_files = [
            (f"s{n}", "worksheet", f"worksheets/sheet{n}.xml") for n in range(1, len(names) + 1)
        ]
        packed.writestr(
            "xl/_rels/workbook.xml.rels", _related([*sheet_files, ("st", "styles", "styles.xml")])
        )
        packed.writestr(
            "xl/styles.xml",
            f'<styleSheet xmlns="{_MAIN}"><numFmts count="1"><numFmt numFmtId="164" '
            'formatCode="00000"/></numFmts><cellXfs count="5">'
            + "".join(f'<xf numFmtId="{n}" applyNumberFormat="1"/>' for n in (0, 14, 22, 21, 164))
            + "</cellXfs></styleSheet>",
        )
        for n, rows in enumerate(sheets.values(), 1):
            cells = "".join(map(_merge, merged))
            packed.writestr(
                f"xl/worksheets/sheet{n}.xml",
                f'<worksheet xmlns="{_MAIN}"><sheetData>{_rows(rows)}</sheetData>'
                + (f"<mergeCells>{cells}</mergeCells>" if merged else "")
                + "</worksheet>",
            )
    return path


def _merge(reference: str) -> str:
    return f'<mergeCell ref="{reference}"/>'


def _related(files: Sequence[tuple[str, str, str]]) -> str:
    return (
        f'<Relationships xmlns="{_PACKAGE}/relationships">'
        + "".join(
            f'<Relationship Id="{name}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
            for name, kind, target in files
        )
        + "</Relationships>"
    )


def _rows(rows: Sequence[Sequence[object]]) -> str:
    return "".join(
        f'<row r="{number}">'
        + "".join(_cell(f"{chr(65 + n)}{number}", cell) for n, cell in enumerate(row))
        + "</row>"
        for number, row in enumerate(rows, 1)
    )


def _cell(reference: str, cell: object) -> str:
    match cell:
        case None:
            return ""
        case Xml():
            return cell.format(reference)
        case bool():
            return f'<c r="{reference}" t="b"><v>{int(cell)}</v></c>'
        case int() | float():
            return f'<c r="{reference}"><v>{cell!r}</v></c>'
    text = f'<t xml:space="preserve">{escape(str(cell))}</t>'
    return f'<c r="{reference}" t="inlineStr"><is>{text}</is></c>'
