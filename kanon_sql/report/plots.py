"""Charts as Vega-Lite specifications, of which `svg` draws those of the report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_BLUE, _RED, _GREY = "#4f7ca8", "#c4453b", "#808a93"
_WIDTH, _HEIGHT = 620, 220

Chart = Mapping[str, Any]


class SizeBin(NamedTuple):
    """A histogram bin of class sizes, counting records (people)."""

    label: str
    members: int
    share: float
    below_k: bool


class RiskPoint(NamedTuple):
    """Share of the records (people) with at least this risk."""

    risk: float
    share: float


class CostPoint(NamedTuple):
    """The cost of one k."""

    k: int
    lost: float
    suppressed: int
    classes: int
    chosen: bool = False
    algorithm: str = ""
    """The algorithm, if there are several."""


def class_sizes(bins: Sequence[SizeBin], members: str, k: int | None) -> Chart:
    """Histogram of class sizes in records (people); bins below the required k are marked."""
    side = {True: f"below the required k of {k}", False: f"{k} or more"}
    values = [
        {
            "size": each.label,
            members: each.members,
            "share": each.share,
            "k": "no k required" if k is None else side[each.below_k],
        }
        for each in bins
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
        {"risk": each.risk, "share": each.share, **({"table": name} if name else {})}
        for name, points_of in of.items()
        for each in sorted(points_of, key=lambda at: at.risk)
    ]
    least = min(each.risk for points_of in of.values() for each in points_of)
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
        "data": {"values": [{"risk": each} for each in thresholds]},
        "mark": {"type": "rule", "strokeDash": [5, 4], "strokeWidth": 2, "color": _RED},
        "encoding": {"x": _number("risk")},
    }
    return _chart(
        f"Share of the {members} at or above each risk",
        values,
        layer=[curve, *([bounds] if thresholds else [])],
    )


class EventPoint(NamedTuple):
    """The share of people found by a number of known events, with its interval if it is drawn."""

    known: int
    share: float
    choice: str
    low: float | None = None
    high: float | None = None


def known_events(points: Sequence[EventPoint]) -> Chart:
    """Share of the people found, by the number of known events, with the intervals of draws."""
    places = {"values": sorted({each.known for each in points}), "format": "d"}
    x = _number("known", title="events known", axis=places)
    whole = {"scale": {"domain": [0, 1]}, "axis": {"format": "%", "tickCount": 5}}
    y = _number("share", title="people found", **whole)
    choices = list(dict.fromkeys(each.choice for each in points))
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
        [each._asdict() for each in points],
        layer=[line, interval],
    )


def cost_of_k(points: Sequence[CostPoint], metric: str, *, are_shares: bool = True) -> Chart:
    """The loss for each k; the chosen one is a large point."""
    values = [dict(each._asdict(), chosen="chosen" if each.chosen else "other") for each in points]
    shared = {
        "x": _number(
            "k",
            title="k",
            scale={"type": "log", "nice": False},
            axis={"values": sorted({each.k for each in points})},
        ),
        "y": _number(
            "lost",
            title="lost" if metric == "loss" else f"lost by {metric}",
            axis={"tickCount": 5, **({"format": "%"} if are_shares else {})},
            scale={"zero": True},
        ),
    }
    several = list(dict.fromkeys(each.algorithm for each in points))
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


def _number(field: str, **how: Any) -> dict[str, Any]:
    """The encoding of a field of numbers."""
    return {"field": field, "type": "quantitative", **how}


def _series(field: str, names: Sequence[str], *colours: str) -> dict[str, Any]:
    """The colour of each series by its name."""
    scale = {"domain": list(names), "range": list(colours)}
    return {"field": field, "type": "nominal", "title": None, "scale": scale}


def _by_choice(*of: Any) -> dict[str, Any]:
    """What tells the chosen point from the others."""
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
