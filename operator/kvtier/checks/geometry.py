"""The geometry of a model, as checks and the planner see it.

`engines` knows the flags that change it and `sizing` the arithmetic, and neither may know the other.
"""

from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines import versions
from kvtier.facts.model import Facts
from kvtier.sizing.geometry import Geometry
from kvtier.sizing.models import model_document, served_geometry


def model_geometry(model: ServedModel, facts: Facts) -> Geometry | None:
    """How the model's cache is cut, None where kvtier cannot tell."""
    flags = versions.facts(model).geometry_flags
    return served_geometry(model, flags, model_document(model, facts.config_maps))
