"""Charts as Vega-Lite specifications, those of the report as SVG.

The drawing reads the Vega-Lite values that `result.chart(…)` returns, as far as these charts use
them: lines, points and rules on number axes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

from kanon_sql.report.words.numbers import number

if TYPE_CHECKING:
    from kanon_sql.models.events.words import CurvePoint
    from kanon_sql.models.synthetic.words import HoldoutComparison
    from kanon_sql.report.words.tables import Bin
    from kanon_sql.results.release import Tradeoff

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_BLUE, _RED, _GREY = "#4f7ca8", "#c4453b", "#808a93"
_WIDTH, _HEIGHT = 620, 220

Chart = Mapping[str, Any]


class RiskPoint(NamedTuple):
    """Share of the records (people) with at least this risk."""

    risk: float
    share: float


def class_sizes(bins: Sequence[Bin], members: str, k: int | None) -> Chart:
    """Histogram of class sizes in records (people); bins below the required k are marked."""
    side = {True: f"below the required k of {k}", False: f"{k} or more"}
    values = [
        {
            "size": bin.label,
            members: bin.count,
            "share": bin.fraction,
            "k": "no k required" if k is None else side[bin.small],
        }
        for bin in bins
    ]
    colour = {"value": _BLUE} if k is None else _series("k", [side[True], side[False]], _RED, _BLUE)
    return _chart(
        f"{members.capitalize()} by the size of their class",
        values,
        mark={"type": "bar"},
        encoding={
            "y": {"field": "size", "type": "nominal", "sort": None, "title": "class size"},
            "x": _number(members, title=members),
            "color": colour,
        },
    )


def risk_curve(
    points: Sequence[RiskPoint],
    members: str,
    thresholds: Sequence[float],
    before: Sequence[RiskPoint] = (),
) -> Chart:
    """Share of the records (people) at or above each risk, with thresholds as rules; of a release
    also `before` it was made."""
    of = {"before": before, "after": points} if before else {"": points}
    values = [
        {"risk": point.risk, "share": point.share, **({"table": name} if name else {})}
        for name, points_of in of.items()
        for point in sorted(points_of, key=lambda at: at.risk)
    ]
    least = min(point.risk for points_of in of.values() for point in points_of)
    x = _number(
        "risk",
        scale={"type": "log", "domain": [min(0.01, least), 1], "nice": False},
        axis={"format": "~%", "values": [0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]},
        title="chance of finding a person",
    )
    y = _number(
        "share",
        scale={"domain": [0, 1]},
        axis={"format": "%", "tickCount": 5},
        title=f"{members} at or above it",
    )
    mark = {"type": "line", "interpolate": "step-before", "strokeWidth": 2.5}
    colour = {"color": _series("table", [*of], _GREY, _BLUE)} if before else {}
    curve = {
        "mark": mark if before else {**mark, "color": _BLUE},
        "encoding": {"x": x, "y": y, **colour},
    }
    bounds = {
        "name": "allowed",
        "data": {"values": [{"risk": threshold} for threshold in thresholds]},
        "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 2, "color": _RED},
        "encoding": {"x": _number("risk")},
    }
    return _chart(
        f"Share of the {members} at or above each risk",
        values,
        layer=[curve, *([bounds] if thresholds else [])],
    )


def known_events(curve: Sequence[CurvePoint]) -> Chart:
    """Share of the people found, by the number of known events, with the intervals of draws."""
    values = [
        {"known": point.m, "share": point.figures["random"]["share"], "choice": "at random"}
        | dict(zip(("low", "high"), point.figures["interval"] or (None, None), strict=True))
        for point in curve
    ]
    values += [
        {"known": point.m, "share": point.figures["worst"]["share"], "choice": "worst choice"}
        | {"low": None, "high": None}
        for point in curve
        if point.figures["worst"]
    ]
    places = {"values": sorted({datum["known"] for datum in values}), "format": "d"}
    x = _number("known", title="events known", axis=places)
    percent_axis = {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
    y = _number("share", title="people found", **percent_axis)
    choices = list(dict.fromkeys(datum["choice"] for datum in values))
    colour = _series("choice", choices, *[_BLUE, _RED][: len(choices)])
    line = {
        "mark": {"type": "line", "strokeWidth": 2.5, "point": True},
        "encoding": {"x": x, "y": y, "color": colour},
    }
    interval = {
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, "color": colour},
    }
    return _chart(
        "Share of the people found by the number of known events",
        values,
        layer=[line, interval],
    )


def excesses(compared: Sequence[HoldoutComparison]) -> Chart:
    """The difference of each check from the holdout, with its interval."""
    values = [
        {
            "check": place,
            "name": each.words,
            "of": "difference",
            "excess": each.excess,
            "low": each.interval[0],
            "high": each.interval[1],
        }
        for place, each in enumerate(compared, start=1)
    ]
    low = min(0, *(each.interval[0] for each in compared))
    high = max(0, *(each.interval[1] for each in compared))
    step = _step((high - low) / _TICKS)
    ticks = [step * at for at in range(math.floor(low / step), math.ceil(high / step) + 1)]
    x = _number(
        "check",
        title="check",
        scale={"domain": [0.5, len(values) + 0.5]},
        axis={"values": [datum["check"] for datum in values], "format": "d"},
    )
    y = _number(
        "excess",
        title="above the holdout",
        scale={"domain": [ticks[0], ticks[-1]]},
        axis={"format": "%", "values": ticks},
    )
    colour = {"color": {**_series("of", ["difference"], _BLUE), "legend": None}}
    constant = {
        channel: {"field": "of", "legend": None, "scale": {"domain": ["difference"], "range": [of]}}
        for channel, of in (("size", 90), ("shape", "circle"))
    }
    point = {
        "mark": {"type": "point", "filled": True},
        "encoding": {"x": x, "y": y, **colour, **constant},
    }
    interval = {
        "mark": {"type": "rule", "strokeWidth": 2},
        "encoding": {"x": x, "y": {**y, "field": "low"}, "y2": {"field": "high"}, **colour},
    }
    return _chart("Difference from the holdout by check", values, layer=[point, interval])


def cost_of_k(tradeoff: Tradeoff, chosen: int | None = None) -> Chart:
    """The loss for each k, of a local recoding also that of one level per column; the chosen k is
    a large point."""
    curves = {tradeoff.algorithm if tradeoff.optimal else "": tradeoff.points}
    if tradeoff.optimal:
        curves["optimal"] = tradeoff.optimal.points
    values: list[dict[str, Any]] = [
        {
            "k": point.k,
            "lost": point.lost(tradeoff.metric) or 0.0,
            "suppressed": point.suppressed or 0,
            "classes": point.classes or 0,
            "chosen": "chosen" if point.k == chosen and points is tradeoff.points else "other",
            "algorithm": algorithm,
        }
        for algorithm, points in curves.items()
        for point in tradeoff.satisfied(points)
    ]
    metric = tradeoff.metric.replace("_", " ")
    shared = {
        "x": _number(
            "k",
            title="k",
            scale={"type": "log", "nice": False},
            axis={"values": sorted({datum["k"] for datum in values})},
        ),
        "y": _number(
            "lost",
            title="lost" if metric == "loss" else f"lost by {metric}",
            axis={"tickCount": 5, **({"format": "%"} if tradeoff.are_shares else {})},
            scale={"zero": True},
        ),
    }
    several = list(dict.fromkeys(datum["algorithm"] for datum in values))
    line: Chart = {"mark": {"type": "line", "color": _BLUE, "strokeWidth": 2.5}, "encoding": shared}
    if len(several) > 1:
        colour = {"color": _series("algorithm", several[::-1], _GREY, _BLUE)}
        line = {"mark": {"type": "line", "strokeWidth": 2.5}, "encoding": shared | colour}
    dots = {
        "mark": {"type": "point", "filled": True, "opacity": 1},
        "encoding": {
            **shared,
            "size": _by_choice(40, 220),
            "color": _by_choice(_BLUE, _RED),
            "shape": _by_choice("circle", "diamond"),
        },
    }
    return _chart("The loss for each k", values, layer=[line, dots])


def _number(field: str, **options: Any) -> dict[str, Any]:
    """The encoding of a field of numbers."""
    return {"field": field, "type": "quantitative", **options}


def _series(field: str, names: Sequence[str], *colours: str) -> dict[str, Any]:
    """The colour of each series by its name."""
    scale = {"domain": list(names), "range": list(colours)}
    return {"field": field, "type": "nominal", "title": None, "scale": scale}


def _by_choice(*of: Any) -> dict[str, Any]:
    """The encoding that marks the chosen point."""
    scale = {"domain": ["other", "chosen"], "range": list(of)}
    return {"field": "chosen", "type": "nominal", "legend": None, "scale": scale}


def _chart(description: str, values: Sequence[Mapping[str, Any]], **drawn: Any) -> Chart:
    axis = {"grid": True, "gridColor": _GREY, "gridOpacity": 0.35, "domainColor": _GREY,
            "tickColor": _GREY, "labelFontSize": 13, "titleFontSize": 13, "titleFontWeight": 500,
            "labelColor": _GREY, "titleColor": _GREY}  # fmt: skip
    return {
        "$schema": SCHEMA,
        "description": description,
        "width": _WIDTH,
        "height": _HEIGHT,
        "background": None,
        "data": {"values": list(values)},
        **drawn,
        "config": {"axis": axis, "view": {"stroke": None}, "font": "sans-serif"},
    }


# --- as SVG ---------------------------------------------------------------------------------

_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 18, 14, 46
_LEGEND = 24
"""Height of the legend."""
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
    layers = [{"data": chart["data"], **layer} for layer in chart.get("layer", [chart])]
    encoding = layers[0]["encoding"]
    x = _axis("x", layers, encoding["x"], _LEFT, _LEFT + chart["width"])
    y = _axis("y", layers, encoding["y"], bottom, top)
    elements = [
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} '
        f'{height + top - _TOP}" font-family="sans-serif" font-size="13" fill="currentColor" '
        f'aria-label="{escape(str(chart["description"]))}">',
        *_legend_drawn(legend),
        *_axes_drawn(x, y),
        *(mark for layer in layers for mark in _marks(layer, x, y)),
        "</svg>",
    ]
    return "\n".join(elements)


def _axis(
    name: str, layers: Sequence[Any], encoding: Mapping[str, Any], start: float, end: float
) -> _Axis:
    values = [
        float(datum[layer["encoding"][name]["field"]])
        for layer in layers
        if name in layer["encoding"]
        for datum in layer["data"]["values"]
        if datum[layer["encoding"][name]["field"]] is not None
    ]
    scale, axis = encoding.get("scale", {}), encoding.get("axis", {})
    is_log = scale.get("type") == "log"
    low, high = scale.get("domain", (min(values) if is_log else 0, max(values)))
    ticks = axis.get("values")
    if ticks is None:
        step = _step((high - low) / axis.get("tickCount", _TICKS))
        ticks = [low + step * index for index in range(math.ceil((high - low) / step - 1e-9) + 1)]
        high = ticks[-1]
    shown = [tick for tick in ticks if low - 1e-12 <= tick <= high + 1e-12]
    return _Axis(
        low, high, start, end, is_log, shown, axis.get("format", ""), encoding["title"] or ""
    )


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
        strokes = dict(_strokes(mark, colour))
        for datum in values:
            if datum[low] is not None:
                at, stroke = x.at(datum[horizontal]), strokes[datum[colour["field"]]]
                yield _line(at, y.at(datum[low]), at, y.at(datum[high]), stroke)
        return
    if mark["type"] == "rule":
        stroke = _stroke(mark["color"], mark.get("strokeDash"))
        for datum in values:
            at = x.at(datum[horizontal])
            yield _line(at, y.start, at, y.end, stroke)
        return
    vertical = encoding["y"]["field"]
    if mark["type"] == "line":
        for of, style in _strokes(mark, colour):
            places = [
                (x.at(datum[horizontal]), y.at(datum[vertical]))
                for datum in values
                if of is None or datum[colour["field"]] == of
            ]
            if places:
                yield f'<path fill="none" {style} d="{_path(places, mark.get("interpolate"))}"/>'
            for across, down in places if mark.get("point") else ():
                yield f'<circle cx="{_round(across)}" cy="{_round(down)}" r="3" {style}/>'
        return
    for datum in values:
        size = _chosen(encoding["size"], datum) ** 0.5 / 1.8
        fill, shape = _chosen(colour, datum), _chosen(encoding["shape"], datum)
        place = _round(x.at(datum[horizontal])), _round(y.at(datum[vertical]))
        if shape == "circle":
            yield f'<circle cx="{place[0]}" cy="{place[1]}" r="{_round(size)}" fill="{fill}"/>'
        else:
            corner = f"M0 {_round(-size)}L{_round(size)} 0L0 {_round(size)}L{_round(-size)} 0Z"
            yield f'<path transform="translate({" ".join(place)})" fill="{fill}" d="{corner}"/>'


def _strokes(
    mark: Mapping[str, Any], colour: Mapping[str, Any]
) -> Iterator[tuple[str | None, str]]:
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
    (first_x, first_y), *further = places
    path = f"M{_round(first_x)} {_round(first_y)}"
    for x, y in further:
        path += f"V{_round(y)}H{_round(x)}" if interpolate else f"L{_round(x)} {_round(y)}"
    return path


def _legend(chart: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The name and stroke of each line and rule that has one."""
    for layer in chart.get("layer", ()):
        mark, colour = layer["mark"], layer["encoding"].get("color", {})
        if mark["type"] == "line" and "field" in colour:
            yield from ((str(of), style) for of, style in _strokes(mark, colour))
        elif "name" in layer:
            yield layer["name"], _stroke(mark["color"], mark.get("strokeDash"))


def _legend_drawn(legend: Sequence[tuple[str, str]]) -> Iterator[str]:
    left: float = _LEFT
    for name, style in legend:
        yield _line(left, 12, left + 26, 12, style)
        yield _text(left + 33, 16, name, "")
        left += 60 + _WIDE * len(name)


def _line(x1: float, y1: float, x2: float, y2: float, attributes: str) -> str:
    start, end = f'x1="{_round(x1)}" y1="{_round(y1)}"', f'x2="{_round(x2)}" y2="{_round(y2)}"'
    return f"<line {start} {end} {attributes}/>"


def _text(x: float, y: float, text: str, attributes: str) -> str:
    return f'<text x="{_round(x)}" y="{_round(y)}" {attributes}>{escape(text)}</text>'


def _round(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
