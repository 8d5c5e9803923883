"""The Job that tries the shared tier out: where it runs, as whom, and what it writes."""

import json
import re
from typing import Any

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import directory
from kvtier.plan.lustre.write_probe import EXIT_CODES, caches, script
from unit.builders import claim, context, manifest, model, pool, write_probe
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
        "nodes that GKE makes": POOL,
        "nodes with Local SSD": pool(tiers={"localSSD": {"capacity": "1Ti"}}),
        "nodes that exist": pool(nodePool=EXISTING),
    },
)
def test_it_runs_where_and_as_whom_engines_run(of: KVCachePool) -> None:
    engine = manifest(of, "Deployment")["spec"]["template"]["spec"]
    shared = ("nodeSelector", "affinity", "tolerations", "securityContext", "automountServiceAccountToken")
    assert {key: _pod(of)[key] for key in shared} == {key: engine[key] for key in shared}
    assert _container(of)["securityContext"] == engine["containers"][0]["securityContext"]
    mounts = engine["containers"][0]["volumeMounts"]
    assert _container(of)["volumeMounts"] == [one for one in mounts if one["name"] == "lustre"]
    assert _pod(of)["volumes"] == [one for one in engine["volumes"] if one["name"] == "lustre"]


def test_it_takes_no_gpu_and_the_first_model_s_image() -> None:
    of = pool(models=[model(engine={"image": "mirror/vllm:v0.33.0"}), model(name="other")])
    assert "nvidia.com/gpu" not in repr(_container(of)["resources"])
    assert _container(of)["image"] == "mirror/vllm:v0.33.0"


def test_paths_are_arguments_and_the_script_is_one_argument() -> None:
    container = _container(POOL)
    assert container["command"][:2] == ["/bin/sh", "-c"]
    assert container["command"][2].replace("$$", "$") == script()
    assert re.search(r"(?<!\$)\$(?!\$)", container["command"][2].replace("$$", "")) is None
    assert container["args"][:3] == ["write", "/kv/lustre", "team-a/chat"]


def test_every_directory_gets_its_document_untouched() -> None:
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
    assert set(written) == {directory(of, one, 16) for one in of.spec.models}
    assert len(written) == 3, "two models are the same, and share a directory"
    assert {one["identity"]["model"] for one in written.values()} == {POOL.spec.models[0].model, odd}
    assert [name.rpartition("/")[2] for name in written] == [one["fingerprint"] for one in written.values()]


def test_the_directory_is_that_of_the_engine() -> None:
    of = pool(models=[model(**SMALL)])
    (one,) = caches(of, context(of).models)
    assert one.directory == directory(of, of.spec.models[0], 64)
    (engine,) = manifest(of, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert any(f'"root_dir":"/kv/lustre/{one.directory}"' in argument for argument in engine["args"])


def test_a_document_that_no_program_would_be_given_is_left_out() -> None:
    of = pool(models=[model(extraArgs=["--hf-overrides=" + "x" * 2000] * 10)])
    assert _container(of)["args"] == ["write", "/kv/lustre", "team-a/chat"]


def test_it_is_no_engine_to_its_service() -> None:
    labels = _job(POOL)["spec"]["template"]["metadata"]["labels"]
    assert not manifest(POOL, "Service")["spec"]["selector"].items() <= labels.items()


def test_an_answer_of_the_file_system_ends_it_and_an_evicted_pod_does_not() -> None:
    rules = _job(POOL)["spec"]["podFailurePolicy"]["rules"]
    assert [rule["action"] for rule in rules] == ["Ignore", "FailJob"]
    assert rules[1]["onExitCodes"]["values"] == sorted(EXIT_CODES), "the API server wants them in order"
    assert _pod(POOL)["restartPolicy"] == "Never", "or the API server refuses the policy"


def test_it_goes_with_its_pool_and_stays_when_it_has_ended() -> None:
    assert _job(POOL)["metadata"]["ownerReferences"][0]["uid"] == "pool-uid"
    assert "ttlSecondsAfterFinished" not in _job(POOL)["spec"]


def test_nothing_runs_as_root_unless_it_is_asked_for() -> None:
    assert "initContainers" not in _pod(POOL)
    (prepare,) = _pod(AS_ROOT)["initContainers"]
    security = prepare["securityContext"]
    assert (security["runAsUser"], security["runAsGroup"], security["runAsNonRoot"]) == (0, 1000, False)
    assert security["capabilities"] == {"drop": ["ALL"], "add": ["CHOWN", "FOWNER", "DAC_OVERRIDE"]}
    assert not security["allowPrivilegeEscalation"]
    assert prepare["args"] == ["prepare", "/kv/lustre"]
    assert _container(AS_ROOT) == _container(POOL), "what proves it is what engines are"


@table(
    "of, live, after, same",
    {
        "the same pool and claim": (POOL, None, "", True),
        "another number of replicas": (pool(models=[model(replicas=5)]), None, "", True),
        "another capacity": (pool(tiers={"lustre": {"capacity": "36000Gi"}}), None, "", True),
        "another claim": (POOL, claim(POOL, metadata={"uid": "new"}), "", False),
        "another pool of the name": (pool(metadata={"uid": "new"}), None, "", False),
        "root's help": (AS_ROOT, None, "", False),
        "another image": (pool(models=[model(engine={"image": "m/vllm:v0.33.0"})]), None, "", False),
        "other nodes": (pool(nodePool=EXISTING), None, "", False),
        "another directory": (pool(models=[model(kvCacheDtype="fp8")]), None, "", False),
        "a failure before it": (POOL, None, "failed", False),
    },
)
def test_a_job_is_another_one_exactly_if_its_pods_are(
    of: KVCachePool, live: Any, after: str, same: bool
) -> None:
    first, second = write_probe(POOL), write_probe(of, live, after)
    assert (first.name == second.name) is same
    assert not same or first == second


def test_names_are_labels_even_of_pools_with_long_names() -> None:
    made = write_probe(pool(metadata={"name": ".".join(["long"] * 50)}))
    assert made.name == made.manifest["metadata"]["name"]
    assert re.fullmatch(r"[a-z][-a-z0-9]{0,51}", made.name)
    labels = made.manifest["spec"]["template"]["metadata"]["labels"]
    assert max(map(len, labels.values())) <= 63
