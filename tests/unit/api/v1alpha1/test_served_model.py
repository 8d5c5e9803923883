"""How a model is served."""

from kvtier.api.v1alpha1 import ServedModel
from unit.builders import model
from unit.tables import table


@table(
    "changes, replicas",
    {
        "one Pod when nothing is said": ({}, 1),
        "as many as are asked for": ({"replicas": 3}, 3),
        "none when none are asked for": ({"replicas": 0}, 0),
        "whatever the autoscaler sets": ({"autoscaling": {}}, None),
    },
)
def test_wanted_replicas(changes: dict[str, object], replicas: int | None) -> None:
    assert ServedModel.model_validate(model(**changes)).wanted_replicas() == replicas
