"""The result of lineage, with its representations."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from kanon_sql.errors import NoDataError, PrivacyViolation, SpecError, did_you_mean, plural
from kanon_sql.report.display import Displayed
from kanon_sql.results.json_part import UNWRITTEN
from kanon_sql.results.lineage import Composition, Gate, ModelLineage, ProjectLineage
from kanon_sql.results.table import Status, Written
from kanon_sql.results.tabular import Rows

if TYPE_CHECKING:
    from kanon_sql.report.document import Block


def refuse_unknown_gate(gate: str) -> None:
    """Raise `SpecError` unless it is a gate."""
    if gate not in get_args(Gate):
        raise SpecError(
            f"there is no gate {gate!r}; there are {' and '.join(get_args(Gate))}."
            f"{did_you_mean(str(gate), get_args(Gate))}"
        )


@dataclass(frozen=True, repr=False)
class LineageResult(Displayed, Written):
    """What each model of a dbt project exposes. Its string form is the command's output."""

    lineage: ProjectLineage
    version: str = field(metadata=UNWRITTEN)
    folder: Path = field(default=Path(), kw_only=True, compare=False, metadata=UNWRITTEN)
    """The folder of the project, below which the files of the models are."""
    sealed: bool = field(default=True, kw_only=True, compare=False, metadata=UNWRITTEN)

    @property
    def status(self) -> Status:
        """With a gate `violated` or `holds`, or `no_data` if it is about no model."""
        gate = self.lineage.gate
        if gate is None:
            return "measured"
        gated = list(self.gated(gate))
        if not gated:
            return "no_data"
        return "violated" if any(model.gap for model in gated) else "holds"

    @property
    def models(self) -> Rows[ModelLineage]:
        """The models: published ones first, then gaps, then by name."""
        return Rows(self.lineage.models)

    @property
    def gaps(self) -> Rows[ModelLineage]:
        """The models that expose people and are not covered."""
        return Rows(model for model in self.lineage.models if model.gap)

    @property
    def compositions(self) -> Rows[Composition]:
        """The published models that tell more of the same people together."""
        return Rows(self.lineage.compositions)

    def gated(self, gate: Gate) -> Iterator[ModelLineage]:
        """The models that a gate is about."""
        return (model for model in self.lineage.models if gate == "all" or model.published)

    def raise_if_unaudited(self, gate: Gate = "published") -> None:
        """Raise `PrivacyViolation` for a gap among the published models, or among "all" models.

        Raises `NoDataError` if no model is published.
        """
        refuse_unknown_gate(gate)
        gated = list(self.gated(gate))
        if not gated:
            raise NoDataError(NOTHING_PUBLISHED)
        names = [model.name for model in gated if model.gap]
        if names:
            raise PrivacyViolation(
                f"{plural(len(names), 'model')} expose{'s' if len(names) == 1 else ''} people and "
                f"{'is' if len(names) == 1 else 'are'} not audited: {', '.join(names)}."
            )

    def page(self) -> Iterator[Block]:
        """The lineage in words, for any writer of `kanon_sql.report`."""
        from kanon_sql.report import lineage

        return lineage.page(self.lineage, is_whole=True)

    def brief(self) -> Iterator[Block]:
        """The page without the models that expose nobody."""
        from kanon_sql.report import lineage

        return lineage.page(self.lineage)

    def _in_a_line(self) -> str:
        return f"{self.status}: {plural(len(self.gaps), 'gap')}"


NOTHING_PUBLISHED = (
    "no selected model is published, so nothing was checked. Publish one with access: public, or "
    "have an exposure read it; or check all models."
)
