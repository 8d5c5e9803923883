"""The Job of the write probe: placement, user, and what it writes."""

import json
import re
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import directory
from kvtier.plan.lustre.write_probe import EXIT_CODES, caches, script
from unit.builders import claim, context, manifest, model, model_cache, pool, write_probe
from unit.tables import table

POOL = pool()
AS_ROOT = pool(tiers={"lustre": {"prepareAsRoot": True}})
EXISTING = {"provisioner": "Existing", "nodeSelector": {"team": "a"}, "zones": ["us-central1-a"]}
SMALL = {"model": "openai/gpt-oss-20b", "tensorParallelSize": 1}


def _job(of: KVCachePool) -> Any:
    return write_probe(of).manifest


def _pod(of: KVCachePool) -> Any:
    return _job(of)["spec"]["template"]["spec"]


def _container(of: KVCachePool) -> Any:
    return _pod(of)["containers"][0]


@table(
    "of",
    {
        "nodes that GKE creates": POOL,
        "nodes with Local SSD": pool(tiers={"localSSD": {"capacity": "1Ti"}}),
        "existing nodes": pool(nodePool=EXISTING),
    },
)
def test_the_job_has_placement_and_user_of_the_engines(of: KVCachePool) -> None:
    engine = manifest(of, "Deployment")["spec"]["template"]["spec"]
    shared = ("nodeSelector", "affinity", "tolerations", "securityContext", "automountServiceAccountToken")
    assert {key: _pod(of)[key] for key in shared} == {key: engine[key] for key in shared}
    assert _container(of)["securityContext"] == engine["containers"][0]["securityContext"]
    mounts = engine["containers"][0]["volumeMounts"]
    assert _container(of)["volumeMounts"] == [one for one in mounts if one["name"] == "lustre"]
    assert _pod(of)["volumes"] == [one for one in engine["volumes"] if one["name"] == "lustre"]


def test_the_job_requests_no_gpu_and_has_the_image_of_the_first_model() -> None:
    of = pool(models=[model(engine={"image": "mirror/vllm:v0.33.0"}), model(name="other")])
    assert "nvidia.com/gpu" not in repr(_container(of)["resources"])
    assert _container(of)["image"] == "mirror/vllm:v0.33.0"


def test_paths_are_arguments_and_the_script_is_one_argument() -> None:
    container = _container(POOL)
    assert container["command"][:2] == ["/bin/sh", "-c"]
    assert container["command"][2].replace("$$", "$") == script()
    assert re.search(r"(?<!\$)\$(?!\$)", container["command"][2].replace("$$", "")) is None
    assert container["args"][:3] == ["write", "/kv/lustre", "team-a/chat"]


def test_every_directory_gets_its_document_unchanged() -> None:
    odd = 'a/$(id) "it\'s" {}\n😀'
    models = [
        model(),
        model(name="odd", model=odd),
        model(name="again"),
        model(name="fp8", kvCacheDtype="fp8"),
    ]
    of = pool(models=models)
    given = [text.replace("$$", "$") for text in _container(of)["args"][3:]]
    written = dict(zip(given[::2], map(json.loads, given[1::2]), strict=True))
    assert set(written) == {directory(of, model_cache(one)) for one in of.spec.models}
    assert len(written) == 3, "two equal models share a directory"
    assert {one["identity"]["model"] for one in written.values()} == {POOL.spec.models[0].model, odd}
    assert [name.rpartition("/")[2] for name in written] == [one["fingerprint"] for one in written.values()]


def test_the_job_and_the_engine_have_the_same_directory() -> None:
    of = pool(models=[model(**SMALL)])
    (one,) = caches(of, context(of).models)
    assert one.directory == directory(of, model_cache(of.spec.models[0], 64))
    (engine,) = manifest(of, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert any(f'"root_dir":"/kv/lustre/{one.directory}"' in argument for argument in engine["args"])


def test_a_document_that_is_too_long_for_an_argument_is_left_out() -> None:
    of = pool(models=[model(extraArgs=["--hf-overrides=" + "x" * 2000] * 10)])
    assert _container(of)["args"] == ["write", "/kv/lustre", "team-a/chat"]


def test_the_service_does_not_select_the_pods_of_the_job() -> None:
    labels = _job(POOL)["spec"]["template"]["metadata"]["labels"]
    assert not manifest(POOL, "Service")["spec"]["selector"].items() <= labels.items()


def test_an_error_of_the_file_system_ends_the_job_and_an_evicted_pod_does_not() -> None:
    rules = _job(POOL)["spec"]["podFailurePolicy"]["rules"]
    assert [rule["action"] for rule in rules] == ["Ignore", "FailJob"]
    assert rules[1]["onExitCodes"]["values"] == sorted(EXIT_CODES), "the API server requires this order"
    assert _pod(POOL)["restartPolicy"] == "Never", "the API server requires it for the policy"


def test_the_job_is_owned_by_its_pool_and_kept_after_it_ended() -> None:
    assert _job(POOL)["metadata"]["ownerReferences"][0]["uid"] == "pool-uid"
    assert "ttlSecondsAfterFinished" not in _job(POOL)["spec"]


def test_nothing_runs_as_root_without_prepare_as_root() -> None:
    assert "initContainers" not in _pod(POOL)
    (prepare,) = _pod(AS_ROOT)["initContainers"]
    security = prepare["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (0, 1000, False)
    assert security["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "FOWNER", "DAC_OVERRIDE"]}
    assert not security["allowPrivilegeEscalation"]
    assert prepare["args"] == ["prepare", "/kv/lustre"]
    assert _container(AS_ROOT) == _container(POOL), "the container that writes is like the engines"


@table(
    "of, live, after, same",
    {
        "the same pool and PVC": (POOL, None, "", True),
        "another number of replicas": (pool(models=[model(replicas=5)]), None, "", True),
        "another capacity": (pool(tiers={"lustre": {"capacity": "36000Gi"}}), None, "", True),
        "another PVC": (POOL, claim(POOL, metadata={"uid": "new"}), "", False),
        "another pool of the same name": (pool(metadata={"uid": "new"}), None, "", False),
        "prepareAsRoot": (AS_ROOT, None, "", False),
        "another image": (pool(models=[model(engine={"image": "m/vllm:v0.33.0"})]), None, "", False),
        "other nodes": (pool(nodePool=EXISTING), None, "", False),
        "another directory": (pool(models=[model(kvCacheDtype="fp8")]), None, "", False),
        "a failure before it": (POOL, None, "failed", False),
    },
)
def test_the_name_of_a_job_changes_with_its_pods(of: KVCachePool, live: Any, after: str, same: bool) -> None:
    first, second = write_probe(POOL), write_probe(of, live, after)
    assert (first.name == second.name) is same
    assert not same or first == second


def test_names_of_jobs_are_valid_labels_for_pools_with_long_names() -> None:
    made = write_probe(pool(metadata={"name": ".".join(["long"] * 50)}))
    assert made.name == made.manifest["metadata"]["name"]
    assert re.fullmatch(r"[a-z][-a-z0-9]{0,51}", made.name)
    labels = made.manifest["spec"]["template"]["metadata"]["labels"]
    assert max(map(len, labels.values())) <= 63
