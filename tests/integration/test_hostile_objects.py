"""An object that nobody expects stops neither the operator nor another pool."""

import json
from collections.abc import Iterator
from copy import deepcopy

import pytest
import yaml

from testbed import operator_process
from testbed.fault_injection import FaultyCluster
from testbed.kube import install_crds
from testbed.pools import API, Pools, manifest

CRD_FILE = operator_process.ROOT / "crds" / "kvtier.dev_kvcachepools.yaml"
_RELEASED = '{"metadata":{"finalizers":null}}'
METADATA_ONLY = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


@pytest.fixture
def free_form(faulty: FaultyCluster) -> Iterator[FaultyCluster]:
    """A cluster with an older CRD, which stores any `podTemplate`."""
    older = deepcopy(yaml.safe_load(CRD_FILE.read_text()))
    spec = older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"]["models"]["items"]["properties"]["podTemplate"] = FREE
    install_crds(faulty.kube, [older])
    yield faulty
    faulty.plane.kubectl("delete", "kvpool", "--all", "--all-namespaces", "--wait=false")
    for one in faulty.plane.kubectl("get", "kvpool", "-A", "--no-headers").stdout.splitlines():
        namespace, name, *_ = one.split()
        faulty.plane.kubectl("-n", namespace, "patch", "kvpool", name, "--type=merge", "-p", _RELEASED)
    operator_process.install_crd(faulty.kube)


def create_deep(pools: Pools, name: str, levels: int = 1100) -> None:
    """Create a pool of 7 KB. Python's JSON encoder cannot write it."""
    text = json.dumps(manifest(name, pools.namespace, models__0__podTemplate={"volumes": "HERE"}))
    deep = '{"a":' * levels + "1" + "}" * levels
    body = text.replace('"HERE"', f"[{deep}]")
    path = pools.kube.path(*API, pools.namespace)
    headers = {"Content-Type": "application/json", "Accept": METADATA_ONLY}
    pools.kube.request("POST", path, data=body, headers=headers)


def read(cluster: FaultyCluster, pools: Pools, name: str, path: str) -> str:
    """A part of a pool that is too deep for Python, empty if the pool does not exist."""
    asked = ("get", "kvpool", name, "--ignore-not-found", "-o", f"jsonpath={path}")
    return cluster.plane.kubectl("-n", pools.namespace, *asked).stdout


def test_a_pool_that_is_nested_too_deeply_is_refused_and_stops_no_other(free_form: FaultyCluster) -> None:
    odd, plain = free_form.pools(), free_form.pools()
    with free_form.operator("--resync-seconds", "1") as process:
        plain.create("before")
        free_form.until_ready(plain, "before")
        create_deep(odd, "deep")
        pid = process.pid
        free_form.until(
            lambda: "InvalidSpec" in read(free_form, odd, "deep", "{.status.conditions[0].reason}")
        )
        plain.create("pool")
        free_form.until_ready(plain, "pool")
        process.require_alive()
        assert process.pid == pid
    with free_form.operator() as process:  # it lists what is there, as every replica at its start
        plain.create("after")
        free_form.until_ready(plain, "after")
        process.require_alive()
        free_form.plane.kubectl("-n", odd.namespace, "delete", "kvpool", "deep", "--wait=false")
        free_form.until(lambda: not read(free_form, odd, "deep", "{.metadata.name}"))
