"""What kvtier knows about the vLLM version in a model's image."""

from kvtier.api.v1alpha1 import ServedModel
from kvtier.data.engines import ENGINES, EngineFacts


def facts(model: ServedModel) -> EngineFacts:
    """The row of `data/engines.yaml`."""
    return ENGINES.versions[model.engine.supported_version()]
