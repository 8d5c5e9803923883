"""What all Pods of a pool have in common."""

from typing import Any

from kvtier.plan.engine_pods import literal
from unit.builders import job, manifest, model, pool
from unit.tables import table

ENGINE = {"imagePullSecrets": [{"name": "registry"}, {"name": "mirror"}]}
ADDED = {"serviceAccountName": "reader", "tolerations": [{"key": "team", "operator": "Exists"}]}


def _pods(**changes: Any) -> list[dict[str, Any]]:
    """Of the engines, and of the Job that tries out what they mount."""
    of = pool(**changes)
    return [one["spec"]["template"]["spec"] for one in (manifest(of, "Deployment"), job(of))]


def test_every_pod_pulls_its_image_with_the_secrets_of_the_model() -> None:
    for pod in _pods(models=[model(engine=ENGINE)]):
        assert pod["imagePullSecrets"] == ENGINE["imagePullSecrets"]
    assert all("imagePullSecrets" not in pod for pod in _pods())


def test_the_job_takes_image_and_secrets_of_the_same_model() -> None:
    image = "example/vllm:v0.33.0"
    first, second = model(engine={**ENGINE, "image": image}), model(name="other")
    probing = _pods(models=[first, second])[1]
    assert (probing["containers"][0]["image"], len(probing["imagePullSecrets"])) == (image, 2)


def test_the_job_runs_where_and_as_whom_engines_do() -> None:
    for pod in _pods(models=[model(podTemplate=ADDED)]):
        assert pod["serviceAccountName"] == pod["serviceAccount"] == "reader"
        assert pod["automountServiceAccountToken"] is False
        assert pod["tolerations"][-1] == ADDED["tolerations"][0]


@table("resource", {"NVIDIA's": "nvidia.com/gpu", "another": "example.com/gpu.shared"})
def test_gpus_are_asked_for_once_and_by_their_name(resource: str) -> None:
    accelerator = {} if resource == "nvidia.com/gpu" else {"resourceName": resource}
    for pod in _pods(nodePool={"accelerator": accelerator}):
        keys = [one["key"] for one in pod["tolerations"]]
        assert [key for key in keys if "gpu" in key] == [resource]
    resources = _pods(nodePool={"accelerator": accelerator})[0]["containers"][0]["resources"]
    for bound in ("requests", "limits"):
        assert {key: value for key, value in resources[bound].items() if "gpu" in key} == {resource: "8"}


@table(
    "text, written",
    {
        "words": ("a b", "a b"),
        "a reference to a variable": ("$(HOME)", "$$(HOME)"),
        "a dollar": ("$", "$$"),
        "two dollars": ("$$", "$$$$"),
    },
)
def test_what_kubernetes_would_expand_is_escaped(text: str, written: str) -> None:
    assert literal(text) == written
