"""The command line of vLLM and the configuration of its offloading connector."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.quantities import GIB
from kvtier.api.v1alpha1 import KVCachePool
from kvtier.engines.fingerprint import directory
from kvtier.engines.native import argv, environment, transfer_config
from unit.builders import model, pool
from unit.tables import table

ONLY_CPU = {"lustre": None}
SSD = {"localSSD": {"capacity": "1Ti"}}
ODD_TEXT = 'it\'s "quoted" $HOME $(id) {} {{ x }} \n second line 😀 ; rm -rf / --port=1'


def test_every_field_of_a_model_is_on_the_command_line() -> None:
    of = pool(
        tiers={"cpu": None, "lustre": None},
        models=[
            model(
                revision="main",
                maxModelLen=131072,
                maxNumSeqs=128,
                maxNumBatchedTokens=8192,
                gpuMemoryUtilization=0.85,
                kvCacheDtype="fp8",
                extraArgs=["--enforce-eager", "--quantization", "fp8"],
            )
        ],
    )
    assert argv(of, of.spec.models[0], with_lustre=False) == [
        "vllm",
        "serve",
        "meta-llama/Llama-3.1-8B-Instruct",
        "--enable-prefix-caching",
        "--served-model-name=llama",
        "--revision=main",
        "--port=8000",
        "--tensor-parallel-size=8",
        "--max-model-len=131072",
        "--max-num-seqs=128",
        "--max-num-batched-tokens=8192",
        "--gpu-memory-utilization=0.85",
        "--kv-cache-dtype=fp8",
        "--prefix-caching-hash-algo=sha256_cbor",
        "--enforce-eager",
        "--quantization",
        "fp8",
    ]


def test_what_a_model_leaves_out_is_left_to_vllm() -> None:
    of = pool(tiers={"cpu": None, "lustre": None})
    assert argv(of, of.spec.models[0], with_lustre=False) == [
        "vllm",
        "serve",
        "meta-llama/Llama-3.1-8B-Instruct",
        "--enable-prefix-caching",
        "--served-model-name=llama",
        "--port=8000",
        "--tensor-parallel-size=8",
        "--gpu-memory-utilization=0.9",
        "--kv-cache-dtype=auto",
        "--prefix-caching-hash-algo=sha256_cbor",
    ]


def test_a_cpu_tier_adds_the_connector_as_one_argument_of_json() -> None:
    of = pool()
    (flag,) = [one for one in argv(of, of.spec.models[0], True) if one.startswith("--kv-transfer-config")]
    name, _, value = flag.partition("=")
    assert name == "--kv-transfer-config"
    assert json.loads(value) == transfer_config(of, of.spec.models[0], True)


@given(
    st.text(min_size=1, max_size=60).filter(lambda text: not text.startswith("-")),
    st.text(min_size=1, max_size=60),
)
def test_text_of_the_user_is_always_one_argument_of_its_own(name: str, revision: str) -> None:
    of = pool(models=[model(model=name, revision=revision)])
    line = argv(of, of.spec.models[0], with_lustre=True)
    assert line[:3] == ["vllm", "serve", name]
    assert f"--revision={revision}" in line
    plain = pool()
    assert len(line) == len(argv(plain, plain.spec.models[0], with_lustre=True)) + 1


def test_quotes_dollars_braces_and_newlines_pass_untouched() -> None:
    of = pool(models=[model(model=ODD_TEXT, revision="--port=1", extraArgs=["--x", ODD_TEXT, "--y=-- -z"])])
    line = argv(of, of.spec.models[0], with_lustre=False)
    assert line[2] == ODD_TEXT
    assert "--revision=--port=1" in line
    assert line[-3:] == ["--x", ODD_TEXT, "--y=-- -z"]


def _config(of: KVCachePool, with_lustre: bool) -> dict[str, Any]:
    config = transfer_config(of, of.spec.models[0], with_lustre)
    extra = config.pop("kv_connector_extra_config")
    assert config == {
        "kv_connector": "OffloadingConnector",
        "kv_role": "kv_both",
        "kv_load_failure_policy": "recompute",
    }
    assert extra["cpu_bytes_to_use"] == 100 * GIB
    return dict(extra)


@table(
    "tiers, with_lustre, roots",
    {
        "Local SSD is a file tier": ({**SSD, **ONLY_CPU}, False, ["/kv/ssd"]),
        "Lustre is a file tier once it is mounted": ({}, True, ["/kv/lustre"]),
        "Local SSD is looked at before Lustre": (SSD, True, ["/kv/ssd", "/kv/lustre"]),
        "Lustre that is not mounted is not named": (SSD, False, ["/kv/ssd"]),
    },
)
def test_file_tiers(tiers: dict[str, Any], with_lustre: bool, roots: list[str]) -> None:
    of = pool(tiers=tiers)
    extra = _config(of, with_lustre)
    assert extra["spec_name"] == "TieringOffloadingSpec"
    here = directory(of, of.spec.models[0])
    assert [tier["root_dir"] for tier in extra["secondary_tiers"]] == [f"{root}/{here}" for root in roots]
    assert {tier["type"] for tier in extra["secondary_tiers"]} == {"fs"}


def test_only_the_shared_tier_is_remote() -> None:
    secondary = _config(pool(tiers=SSD), with_lustre=True)["secondary_tiers"]
    assert [tier["locality"] for tier in secondary] == ["LOCAL", "REMOTE"]


def test_a_cpu_tier_alone_needs_no_tiering() -> None:
    extra = _config(pool(tiers=ONLY_CPU), with_lustre=False)
    assert "spec_name" not in extra
    assert "secondary_tiers" not in extra


def test_blocks_per_chunk_are_the_usual_number_or_what_the_model_wants() -> None:
    of = pool(tiers=SSD)
    served = of.spec.models[0]
    assert transfer_config(of, served, True)["kv_connector_extra_config"]["blocks_per_chunk"] == 16
    extra = transfer_config(of, served, True, 64)["kv_connector_extra_config"]
    assert extra["blocks_per_chunk"] == 64
    here = directory(of, served, 64)
    assert [tier["root_dir"] for tier in extra["secondary_tiers"]] == [
        f"/kv/ssd/{here}",
        f"/kv/lustre/{here}",
    ]
    line = argv(of, served, True, 64)
    assert json.loads(line[-1].partition("=")[2])["kv_connector_extra_config"] == extra


def test_every_pod_hashes_with_the_same_seed_and_the_user_adds_variables() -> None:
    of = pool(models=[model(env=[{"name": "B", "value": ODD_TEXT}, {"name": "A"}])])
    variables = environment(of.spec.models[0])
    assert variables["PYTHONHASHSEED"] == "0"
    assert variables["B"] == ODD_TEXT
    assert list(variables)[-2:] == ["B", "A"]
