"""The privacy models, a room for each family."""

TYPE_CHECKING = False  # What a type checker takes for true.
if TYPE_CHECKING:
    from kanon_sql.models.cells.models import *
    from kanon_sql.models.earlier.models import *
    from kanon_sql.models.events.models import *
    from kanon_sql.models.population.models import *
    from kanon_sql.models.reference.models import *
    from kanon_sql.models.sizes.models import *
    from kanon_sql.models.synthetic.models import *
    from kanon_sql.models.values.models import *

FAMILIES = {
    "sizes": "Sizes of classes",
    "values": "What a class shares of a sensitive attribute",
    "reference": "Linkage with a reference table",
    "population": "Estimates for a sample of a population",
    "earlier": "Several releases of the same people",
    "events": "Many records of a person: what known events tell",
    "synthetic": "Synthetic tables beside their original",
    "cells": "Cells of a table that is published (kanon-sql tables)",
}
"""The families of models, each a room of this package, with its heading in the order in which they
are presented; cells come last."""
