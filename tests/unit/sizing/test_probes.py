"""The budget of the startup probe."""

from kvtier.sizing.host import PERIOD_SECONDS, startup_failures, weights_seconds
from unit.builders import model, pool
from unit.tables import table


@table(
    "capacity, load_seconds, seconds",
    {
        "loading the model takes its time": (None, 1800, 1800),
        "pinning the CPU tier adds a tenth of a second per GiB": ("1000Gi", 1800, 1900),
        "a part of a period counts as a whole one": ("1Gi", 1800, 1810),
        "decimal sizes count as what they are": ("1000G", 0, 100),
    },
)
def test_startup_failures(capacity: str | None, load_seconds: int, seconds: int) -> None:
    tiers = {"cpu": {"capacity": capacity} if capacity else None, "lustre": None}
    assert startup_failures(pool(tiers=tiers), load_seconds, 0.1) * PERIOD_SECONDS == seconds


@table(
    "accelerator, gpus, seconds",
    {
        "one small GPU": ("nvidia-l4", 1, 120),
        "eight large ones": ("nvidia-h100-80gb", 8, 3200),
        "GPUs of a type that nobody has listed": ("nvidia-next", 2, 800),
    },
)
def test_weights_are_at_most_what_the_gpus_of_the_pod_can_hold(
    accelerator: str, gpus: int, seconds: float
) -> None:
    of = pool(
        nodePool={"accelerator": {"type": accelerator, "count": 8}}, models=[model(tensorParallelSize=gpus)]
    )
    assert weights_seconds(of, of.spec.models[0]) == seconds
