"""Every model by its name.

To add one: its class in the file of its family and in `MODELS`; its macro in
`templates/macros/shared/` (and, where dbt has a test of it, `dbt_only/generic_tests.sql` and
`_macros.yml`); its phrases in `report/words/models`, its example in `spec/models/examples`; a row
in the README and a line in `kanon_sql/__init__`; worked examples in `tests/models/`, and a few
lines of plain Python in `tests/support/oracle`. `tests/test_house` names what is missing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kanon_sql.errors import SpecError, did_you_mean
from kanon_sql.spec.models.base import Model
from kanon_sql.spec.models.closeness import (
    BasicBetaLikeness,
    DeltaDisclosure,
    EnhancedBetaLikeness,
    TCloseness,
)
from kanon_sql.spec.models.composition import ComposedKAnonymity, ComposedLDiversity
from kanon_sql.spec.models.diversity import (
    AlphaKAnonymity,
    EntropyLDiversity,
    Homogeneity,
    KEAnonymity,
    LDiversity,
    PSensitiveKAnonymity,
    RecursiveClDiversity,
)
from kanon_sql.spec.models.estimates import KMapEstimate, PopulationUniqueness
from kanon_sql.spec.models.reference import DeltaPresence, KMap
from kanon_sql.spec.models.risk import JournalistRisk, MarketerRisk, ProsecutorRisk
from kanon_sql.spec.models.sizes import KAnonymity, SampleUniqueness

MODELS: dict[str, type[Model]] = {
    cls.name(): cls
    for cls in (
        KAnonymity,
        KMap,
        DeltaPresence,
        Homogeneity,
        LDiversity,
        EntropyLDiversity,
        RecursiveClDiversity,
        AlphaKAnonymity,
        PSensitiveKAnonymity,
        KEAnonymity,
        TCloseness,
        DeltaDisclosure,
        BasicBetaLikeness,
        EnhancedBetaLikeness,
        ProsecutorRisk,
        JournalistRisk,
        MarketerRisk,
        SampleUniqueness,
        PopulationUniqueness,
        KMapEstimate,
        ComposedKAnonymity,
        ComposedLDiversity,
    )
}
"""Every model by its name, in the order in which people read of them."""


def model_named(name: str) -> type[Model]:
    """The model of this name. Raises `SpecError` that names the nearest one."""
    if name not in MODELS:
        raise SpecError(
            f'there is no model "{name}".{did_you_mean(name, MODELS)} kanon-sql explain lists the '
            f"{len(MODELS)} there are."
        )
    return MODELS[name]


def short_checks(
    demands: Mapping[str, Any], sensitive: Sequence[str], reference: str | None
) -> list[Model]:
    """The checks that `k`, `l`, `t` and `k_map` ask for, l and t of each sensitive attribute.

    >>> [check.name() for check in short_checks({"k": 5, "l": 2}, ["diagnosis"], None)]
    ['k_anonymity', 'l_diversity']

    Raises `SpecError` for a threshold that is out of its range.
    """
    k, l_, t, k_map = (demands.get(key) for key in ("k", "l", "t", "k_map"))
    checks: list[Model] = [] if k is None else [KAnonymity(k=k)]
    checks += [LDiversity(l=l_, sensitive=name) for name in sensitive if l_ is not None]
    checks += [TCloseness(t=t, sensitive=name) for name in sensitive if t is not None]
    return checks if k_map is None else [*checks, KMap(k=k_map, reference=reference)]
