"""Directories of a pool's models on the shared tier, and what becomes of engines when one changes."""

from typing import Any

import pytest

from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines import fingerprint as descriptor
from kvtier.engines.fingerprint import directory
from kvtier.facts.model import Facts
from kvtier.plan.children import mounts_lustre
from kvtier.plan.lustre import write_probe as job_module
from kvtier.plan.lustre.write_probe import caches
from kvtier.plan.model import Plan
from kvtier.plan.plan import plan
from unit.builders import NOW, claim, deployment, facts, job, live, manifest, model, node, observed, pool

SMALL = {"model": "openai/gpt-oss-20b", "tensorParallelSize": 1}
POOL = pool(models=[model(**SMALL)])
EIGHT_BITS = pool(models=[model(kvCacheDtype="fp8", **SMALL)])


def test_the_directory_is_that_of_the_engine() -> None:
    (one,) = caches(POOL, Facts())
    assert one.directory == directory(POOL, POOL.spec.models[0], 64)
    (engine,) = manifest(POOL, "Deployment")["spec"]["template"]["spec"]["containers"]
    assert any(f'"root_dir":"/kv/lustre/{one.directory}"' in argument for argument in engine["args"])


def test_models_that_share_a_directory_have_one_document() -> None:
    twice = pool(models=[model(**SMALL), model(name="again", **SMALL), model(name="other")])
    assert len(caches(twice, Facts())) == 2


def _planned(of: KVCachePool, made: KVCachePool) -> Plan:
    """What is planned for a pool while everything of `made` exists."""
    world = [live(manifest(made, kind)) for kind in ("StorageClass", "ComputeClass", "Service")]
    return plan(of, observed(*world, claim(made), job(made), deployment(made), facts=facts(node(made))), NOW)


def _kinds(found: Plan) -> list[str]:
    return [one["kind"] for one in found.applies]


def _condition(found: Plan, type_: str) -> Any:
    assert found.status is not None
    return next(one for one in found.status.conditions if one.type == type_)


def test_a_new_directory_is_tried_out_and_described_while_engines_keep_their_mount() -> None:
    found = _planned(EIGHT_BITS, POOL)
    (engine,) = [one for one in found.applies if one["kind"] == "Deployment"]
    (probe,) = [one for one in found.applies if one["kind"] == "Job"]
    assert mounts_lustre(engine)
    (cache,) = caches(EIGHT_BITS, Facts())
    assert cache.directory in probe["spec"]["template"]["spec"]["containers"][0]["args"]
    assert any(cache.directory in one for one in engine["spec"]["template"]["spec"]["containers"][0]["args"])
    assert (_condition(found, "TierWritable").status, _condition(found, "ModelsReady").status) == (
        "False",
        "True",
    )


def test_a_kvtier_with_another_script_and_other_documents_tries_nothing_out_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = job(POOL)
    monkeypatch.setattr(job_module, "script", lambda: "# another one")
    monkeypatch.setattr(descriptor, "_FORMAT", 2)
    world = observed(claim(POOL), done, deployment(POOL), facts=facts(node(POOL)))
    assert job(POOL)["metadata"]["name"] != done["metadata"]["name"]
    found = plan(POOL, world, NOW)
    assert "Job" not in _kinds(found)
    assert not [ref for ref in found.deletes if ref.kind == "Job"]
    assert _condition(found, "TierWritable").status == "True"
