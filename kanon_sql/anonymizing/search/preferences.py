"""The user's preferences for a release: levels that are fixed or bounded, and weights."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kanon_sql.anonymizing.release.options import ReleaseOptions
from kanon_sql.anonymizing.search.qi_levels import Attribute
from kanon_sql.errors import SpecError, did_you_mean, option
from kanon_sql.plan.question import ResolvedQuestion


@dataclass(frozen=True)
class Preferences:
    """Upper bounds of the levels of each quasi-identifier, and the weights of their losses."""

    at_most: Mapping[str, int]
    """The highest allowed level of each bounded quasi-identifier; 0 keeps the raw value."""
    weights: Mapping[str, float]
    """The weights that differ from 1."""

    def highest(self, name: str, height: int) -> int:
        """The highest allowed level of a quasi-identifier whose hierarchy has this height.

        Raises `SpecError` for a bound above the top level, which would have no effect.
        """
        bound = self.at_most.get(name, height)
        if bound > height:
            raise SpecError(
                f'"{name}" has no level {bound}: its top is level {height}. Name that or a lower '
                "one, or leave the bound out."
            )
        return bound

    def bounded(self, attribute: Attribute) -> Attribute:
        """The attribute without the levels above its highest allowed one."""
        highest = self.highest(attribute.name, attribute.height)
        return Attribute(attribute.name, attribute.distinct[: highest + 1])


def preferences_of(options: ReleaseOptions, bound: ResolvedQuestion) -> Preferences:
    """The preferences in the spec, overridden by the options of the release.

    Raises `SpecError` for a column that is not a quasi-identifier or is named twice.
    """
    names = [each.name for each in bound.quasi_identifiers]
    at_most: dict[str, int] = {}
    weights: dict[str, float] = {}
    for column in bound.quasi_identifiers:
        said = bound.roles.hierarchy(column)
        if said.keep or said.at_most is not None:
            at_most[column.name] = 0 if said.keep else int(said.at_most or 0)
        if said.weight is not None:
            weights[column.name] = said.weight
    kept = dict.fromkeys(_each_once("keep", options.keep, names), 0)
    bounds = _by_name("at_most", options.at_most, names)
    both = next((name for name in kept if name in bounds), None)
    if both is not None:
        raise SpecError(
            f'"{both}" is named in {option("keep")} and in {option("at_most")}. Keeping it means '
            "level 0 at most: name it once."
        )
    return Preferences(
        {**at_most, **kept, **bounds}, {**weights, **_by_name("weights", options.weights, names)}
    )


def _by_name(parameter: str, given: Mapping[str, Any], names: list[str]) -> dict[str, Any]:
    found = _each_once(parameter, given, names)
    return dict(zip(found, given.values(), strict=True))


def _each_once(parameter: str, given: Iterable[str], names: list[str]) -> list[str]:
    """The quasi-identifiers of these names, in the table's spelling; a duplicate is an error."""
    found = [_quasi_identifier(parameter, name, names) for name in given]
    twice = next((name for place, name in enumerate(found) if name in found[:place]), None)
    if twice is not None:
        raise SpecError(f'{option(parameter)} names "{twice}" twice. Name it once.')
    return found


def _quasi_identifier(parameter: str, name: str, names: list[str]) -> str:
    alike = [each for each in names if each.casefold() == name.casefold()]
    if name in names or len(alike) == 1:
        return name if name in names else alike[0]
    raise SpecError(
        f'{option(parameter)}: "{name}" is no quasi-identifier. Quasi-identifiers: '
        f"{', '.join(names)}.{did_you_mean(name, names)}"
    )
