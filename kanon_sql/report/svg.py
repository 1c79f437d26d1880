"""Draws the charts of `plots` as SVG, without a library: lines, points and rules on number axes.

Reads the Vega-Lite values that `result.chart(…)` returns, as far as `plots` uses them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

from kanon_sql.report.words.numbers import number

_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 18, 14, 46
_LEGEND = 24
"""Height of the legend."""
_GREY = "#808a93"
_TICKS = 5
_DASHES = (2, 3)
_WIDE = 7
"""Average width of a character of the legend."""


class _Axis(NamedTuple):
    """A scale from values to pixels, with its ticks."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool
    ticks: Sequence[float]
    form: str
    title: str

    def at(self, value: float) -> float:
        low, high, here = (map(math.log, (self.low, self.high, value))) if self.is_log else (
            self.low, self.high, value,
        )  # fmt: skip
        share = (here - low) / (high - low) if high > low else 0.5
        return self.start + share * (self.end - self.start)

    def label(self, value: float) -> str:
        return f"{value * 100:.4g}%" if "%" in self.form else number(value)


def is_drawn(chart: Mapping[str, Any]) -> bool:
    """Whether `svg` draws the chart: it has values, and its axes are of numbers, not of names."""
    layers = chart.get("layer", [chart])
    axes = [layers[0]["encoding"].get(name, {}).get("type") for name in ("x", "y")]
    marks = {layer["mark"]["type"] for layer in layers}
    has_values = bool(layers[0].get("data", chart["data"])["values"])
    return has_values and axes == ["quantitative"] * 2 and marks <= {"line", "point", "rule"}


def svg(chart: Mapping[str, Any]) -> str:
    """The chart as an SVG element, which a screen reader takes as an image with a description."""
    legend = list(_legend(chart))
    width, height = chart["width"] + _LEFT + _RIGHT, chart["height"] + _TOP + _BOTTOM
    top = _TOP + (_LEGEND if legend else 0)
    bottom = top + chart["height"]
    layers = [{"data": chart["data"], **each} for each in chart.get("layer", [chart])]
    encoding = layers[0]["encoding"]
    x = _axis("x", layers, encoding["x"], _LEFT, _LEFT + chart["width"])
    y = _axis("y", layers, encoding["y"], bottom, top)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} '
        f'{height + top - _TOP}" font-family="sans-serif" font-size="13" fill="currentColor" '
        f'aria-label="{escape(str(chart["description"]))}">',
        *_legend_drawn(legend),
        *_axes_drawn(x, y),
        *(mark for layer in layers for mark in _marks(layer, x, y)),
        "</svg>",
    ]
    return "\n".join(parts)


def _axis(
    name: str, layers: Sequence[Any], how: Mapping[str, Any], start: float, end: float
) -> _Axis:
    values = [
        float(value[layer["encoding"][name]["field"]])
        for layer in layers
        if name in layer["encoding"]
        for value in layer["data"]["values"]
        if value[layer["encoding"][name]["field"]] is not None
    ]
    scale, axis = how.get("scale", {}), how.get("axis", {})
    is_log = scale.get("type") == "log"
    low, high = scale.get("domain", (min(values) if is_log else 0, max(values)))
    ticks = axis.get("values")
    if ticks is None:
        step = _step((high - low) / axis.get("tickCount", _TICKS))
        ticks = [low + step * place for place in range(math.ceil((high - low) / step - 1e-9) + 1)]
        high = ticks[-1]
    shown = [tick for tick in ticks if low - 1e-12 <= tick <= high + 1e-12]
    return _Axis(low, high, start, end, is_log, shown, axis.get("format", ""), how["title"] or "")


def _step(rough: float) -> float:
    """The next larger 1, 2 or 5 times a power of ten."""
    if rough <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= rough - 1e-12)


def _axes_drawn(x: _Axis, y: _Axis) -> Iterator[str]:
    line = f'stroke="{_GREY}" stroke-opacity="{{}}"'
    for tick in y.ticks:
        yield _line(x.start, y.at(tick), x.end, y.at(tick), line.format(0.3))
        yield _text(x.start - 8, y.at(tick) + 4, y.label(tick), 'text-anchor="end"')
    for tick in x.ticks:
        yield _line(x.at(tick), y.start, x.at(tick), y.start + 5, line.format(1))
        yield _text(x.at(tick), y.start + 19, x.label(tick), 'text-anchor="middle"')
    yield _line(x.start, y.start, x.end, y.start, line.format(1))
    middle_x, middle_y = (x.start + x.end) / 2, (y.start + y.end) / 2
    title = 'class="role-axis-title" text-anchor="middle"'
    yield _text(middle_x, y.start + 39, x.title, title)
    yield _text(0, 0, y.title, f'{title} transform="translate(14 {_round(middle_y)}) rotate(-90)"')


def _marks(layer: Mapping[str, Any], x: _Axis, y: _Axis) -> Iterator[str]:
    mark, encoding, values = layer["mark"], layer["encoding"], layer["data"]["values"]
    horizontal, colour = encoding["x"]["field"], encoding.get("color", {})
    if mark["type"] == "rule" and "y2" in encoding:
        low, high = encoding["y"]["field"], encoding["y2"]["field"]
        strokes = dict(_series(mark, colour))
        for each in values:
            if each[low] is not None:
                at, how = x.at(each[horizontal]), strokes[each[colour["field"]]]
                yield _line(at, y.at(each[low]), at, y.at(each[high]), how)
        return
    if mark["type"] == "rule":
        how = _stroke(mark["color"], mark.get("strokeDash"))
        for each in values:
            at = x.at(each[horizontal])
            yield _line(at, y.start, at, y.end, how)
        return
    vertical = encoding["y"]["field"]
    if mark["type"] == "line":
        for of, style in _series(mark, colour):
            places = [
                (x.at(each[horizontal]), y.at(each[vertical]))
                for each in values
                if of is None or each[colour["field"]] == of
            ]
            if places:
                yield f'<path fill="none" {style} d="{_path(places, mark.get("interpolate"))}"/>'
            for across, down in places if mark.get("point") else ():
                yield f'<circle cx="{_round(across)}" cy="{_round(down)}" r="3" {style}/>'
        return
    for each in values:
        size = _chosen(encoding["size"], each) ** 0.5 / 1.8
        fill, shape = _chosen(colour, each), _chosen(encoding["shape"], each)
        place = _round(x.at(each[horizontal])), _round(y.at(each[vertical]))
        if shape == "circle":
            yield f'<circle cx="{place[0]}" cy="{place[1]}" r="{_round(size)}" fill="{fill}"/>'
        else:
            corner = f"M0 {_round(-size)}L{_round(size)} 0L0 {_round(size)}L{_round(-size)} 0Z"
            yield f'<path transform="translate({" ".join(place)})" fill="{fill}" d="{corner}"/>'


def _series(mark: Mapping[str, Any], colour: Mapping[str, Any]) -> Iterator[tuple[str | None, str]]:
    """The series of a line with their strokes; of two the first one is dashed."""
    if "field" not in colour:
        yield None, _stroke(mark["color"])
        return
    scale = colour["scale"]
    dashes = (_DASHES, None)[-len(scale["domain"]) :]
    for of, stroke, dash in zip(scale["domain"], scale["range"], dashes, strict=True):
        yield of, _stroke(stroke, dash)


def _stroke(colour: str, dash: Sequence[int] | None = None) -> str:
    dashed = f' stroke-dasharray="{" ".join(map(str, dash))}"' if dash else ""
    return f'stroke="{colour}" stroke-width="2.5"{dashed}'


def _chosen(channel: Mapping[str, Any], value: Mapping[str, Any]) -> Any:
    scale = channel["scale"]
    return scale["range"][scale["domain"].index(value[channel["field"]])]


def _path(places: Sequence[tuple[float, float]], interpolate: str | None) -> str:
    """A line through the points; stepping before each one, or straight."""
    (first_x, first_y), *rest = places
    path = f"M{_round(first_x)} {_round(first_y)}"
    for x, y in rest:
        path += f"V{_round(y)}H{_round(x)}" if interpolate else f"L{_round(x)} {_round(y)}"
    return path


def _legend(chart: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name and stroke of each line and rule that has one."""
    for layer in chart.get("layer", ()):
        mark, colour = layer["mark"], layer["encoding"].get("color", {})
        if mark["type"] == "line" and "field" in colour:
            yield from ((str(of), style) for of, style in _series(mark, colour))
        elif "name" in layer:
            yield layer["name"], _stroke(mark["color"], mark.get("strokeDash"))


def _legend_drawn(legend: Sequence[tuple[str, str]]) -> Iterator[str]:
    left: float = _LEFT
    for name, style in legend:
        yield _line(left, 12, left + 26, 12, style)
        yield _text(left + 33, 16, name, "")
        left += 60 + _WIDE * len(name)


def _line(x1: float, y1: float, x2: float, y2: float, how: str) -> str:
    start, end = f'x1="{_round(x1)}" y1="{_round(y1)}"', f'x2="{_round(x2)}" y2="{_round(y2)}"'
    return f"<line {start} {end} {how}/>"


def _text(x: float, y: float, text: str, how: str) -> str:
    return f'<text x="{_round(x)}" y="{_round(y)}" {how}>{escape(text)}</text>'


def _round(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
