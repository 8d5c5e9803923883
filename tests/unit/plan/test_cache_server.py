"""The LMCache server in an engine's Pod."""

import re
from typing import Any

from kvtier.api.quantities import GIB, parse
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.lmcache import SEGMENT, server_argv
from kvtier.plan.children import mounts_lustre
from unit.builders import manifest, model, pool

LMCACHE = {"version": "0.5.6", "cpu": 6, "memory": "12Gi"}
ENGINE = {"backend": "LMCache", "lmcache": LMCACHE}
SSD = {"localSSD": {"capacity": "1Ti"}}


def _served(tiers: dict[str, Any] | None = None, **changes: Any) -> KVCachePool:
    return pool(tiers=tiers or {}, models=[model(engine=ENGINE, **changes)])


def _pod(of: KVCachePool) -> dict[str, Any]:
    return dict(manifest(of, "Deployment")["spec"]["template"]["spec"])


def _server(of: KVCachePool) -> dict[str, Any]:
    (container,) = _pod(of)["initContainers"]
    return dict(container)


def _engine(of: KVCachePool) -> dict[str, Any]:
    (container,) = _pod(of)["containers"]
    return dict(container)


def _mounts(container: dict[str, Any]) -> dict[str, str]:
    return {mount["name"]: mount["mountPath"] for mount in container["volumeMounts"]}


def test_there_is_none_where_vllm_moves_its_blocks_by_itself() -> None:
    assert "initContainers" not in _pod(pool())


def test_it_runs_before_and_beside_the_engine_from_the_same_image() -> None:
    server, engine = _server(_served()), _engine(_served())
    assert (server["name"], server["restartPolicy"]) == ("cache-server", "Always")
    assert server["image"] == engine["image"]
    assert server["securityContext"] == engine["securityContext"]
    assert "nvidia.com/gpu" not in str(server["resources"]), "GPUs are counted once"


def test_both_hash_with_the_same_seed() -> None:
    for container in (_server(_served()), _engine(_served())):
        assert {"name": "PYTHONHASHSEED", "value": "0"} in container["env"]


def test_users_variables_and_secrets_are_not_for_the_server() -> None:
    of = _served(env=[{"name": "MINE", "value": "x"}], tokenSecretRef={"name": "hf"})
    assert {variable["name"] for variable in _server(of)["env"]} == {
        "PYTHONHASHSEED",
        "HOME",
        "USER",
        "LMCACHE_TRACK_USAGE",
        "POD_NAME",
    }


def test_kubernetes_fills_in_the_name_of_the_pod_and_nothing_else() -> None:
    server = _server(_served(SSD))
    name = {"name": "POD_NAME", "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}
    assert name in server["env"]
    assert re.findall(r"\$.[^)]*.", "".join(server["args"])) == ["$(POD_NAME)"]


def test_the_command_line_is_the_engines_facts_and_a_shell_line_that_sees_none_of_it() -> None:
    of = _served(SSD, blocksPerChunk=8)
    server = _server(of)
    assert server["args"] == server_argv(of, of.spec.models[0], True, 8)
    assert server["command"] == [
        "/bin/sh",
        "-c",
        f'rm -f /dev/shm/{SEGMENT}; exec "$@"',
        "cache-server",
    ]


def test_both_may_hold_the_cpu_tier_and_the_pod_reserves_it_once() -> None:
    of = _served()
    server, engine = _server(of)["resources"], _engine(of)["resources"]
    assert server["requests"] == {"cpu": "6", "memory": "12Gi"}
    assert parse(server["limits"]["memory"]) == (12 + 100) * GIB
    assert engine == _engine(pool())["resources"]


def test_files_are_the_servers_and_shared_memory_is_both_ones() -> None:
    of = _served(SSD)
    own = {"shm": "/dev/shm", "home": "/home/vllm", "tmp": "/tmp"}
    assert _mounts(_engine(of)) == own
    assert _mounts(_server(of)) == {**own, "local-ssd": "/kv/ssd", "lustre": "/kv/lustre"}
    assert mounts_lustre(manifest(of, "Deployment"))


def test_it_is_asked_for_its_health_at_a_port_of_its_own() -> None:
    server = _server(_served())
    (port,) = server["ports"]
    assert port == {"name": "http-cache", "containerPort": 8080, "protocol": "TCP"}
    for probe in ("startupProbe", "livenessProbe"):
        assert server[probe]["httpGet"] == {"path": "/healthcheck", "port": "http-cache"}
    assert "readinessProbe" not in server, "an engine serves without it"


def test_a_larger_tier_has_longer_to_start_and_the_deployment_waits_for_both() -> None:
    small, large = _served(), _served({"cpu": {"capacity": "10000Gi"}})
    assert (
        _server(large)["startupProbe"]["failureThreshold"]
        > _server(small)["startupProbe"]["failureThreshold"]
    )
    for of in (small, large):
        budgets = [container["startupProbe"] for container in (_server(of), _engine(of))]
        seconds = sum(budget["periodSeconds"] * budget["failureThreshold"] for budget in budgets)
        assert manifest(of, "Deployment")["spec"]["progressDeadlineSeconds"] > seconds
