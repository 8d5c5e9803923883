"""The config.json and the geometry of models of the table."""

from kvtier.sizing.architectures import Config, cached
from kvtier.sizing.geometry import Geometry, geometry
from kvtier.sizing.models import config_of


def config(model: str) -> Config:
    """The config.json of a model of the table."""
    found = config_of(model)
    assert found is not None
    return found


def cut(of: Config, dtype: str = "auto", gpus: int = 1, block: int = 16) -> Geometry:
    """The geometry of a model with this config.json, which kvtier must know."""
    found = cached(of, dtype, gpus)
    assert found is not None
    return geometry(found, gpus, block)


def known(model: str, dtype: str = "auto", gpus: int = 1) -> Geometry:
    """The geometry of a model of the table."""
    return cut(config(model), dtype, gpus)
