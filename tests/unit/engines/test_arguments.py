"""The command line and the environment of an engine."""

import json

from hypothesis import given
from hypothesis import strategies as st

from kvtier.engines import lmcache
from kvtier.engines.arguments import argv, environment
from kvtier.engines.native import transfer_config
from unit.builders import model, pool

ODD_TEXT = 'it\'s "quoted" $HOME $(id) {} {{ x }} \n second line 😀 ; rm -rf / --port=1'
LMCACHE = {"backend": "LMCache", "lmcache": {"version": "0.5.6"}}
BLOCKS = 16


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
                blockSize=32,
                extraArgs=["--enforce-eager", "--quantization", "fp8"],
            )
        ],
    )
    assert argv(of, of.spec.models[0], with_lustre=False, blocks_per_chunk=BLOCKS) == [
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
        "--block-size=32",
        "--prefix-caching-hash-algo=sha256_cbor",
        "--enforce-eager",
        "--quantization",
        "fp8",
    ]


def test_what_a_model_leaves_out_is_left_to_vllm() -> None:
    of = pool(tiers={"cpu": None, "lustre": None})
    assert argv(of, of.spec.models[0], with_lustre=False, blocks_per_chunk=BLOCKS) == [
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
    (flag,) = [
        one for one in argv(of, of.spec.models[0], True, BLOCKS) if one.startswith("--kv-transfer-config")
    ]
    name, _, value = flag.partition("=")
    assert name == "--kv-transfer-config"
    assert json.loads(value) == transfer_config(of, of.spec.models[0], True, BLOCKS)


@given(
    st.text(min_size=1, max_size=60).filter(lambda text: not text.startswith("-")),
    st.text(min_size=1, max_size=60),
)
def test_text_of_the_user_is_always_one_argument_of_its_own(name: str, revision: str) -> None:
    of = pool(models=[model(model=name, revision=revision)])
    line = argv(of, of.spec.models[0], with_lustre=True, blocks_per_chunk=BLOCKS)
    assert line[:3] == ["vllm", "serve", name]
    assert f"--revision={revision}" in line
    plain = pool()
    assert len(line) == len(argv(plain, plain.spec.models[0], with_lustre=True, blocks_per_chunk=BLOCKS)) + 1


def test_quotes_dollars_braces_and_newlines_pass_untouched() -> None:
    of = pool(models=[model(model=ODD_TEXT, revision="--port=1", extraArgs=["--x", ODD_TEXT, "--y=-- -z"])])
    line = argv(of, of.spec.models[0], with_lustre=False, blocks_per_chunk=BLOCKS)
    assert line[2] == ODD_TEXT
    assert "--revision=--port=1" in line
    assert line[-3:] == ["--x", ODD_TEXT, "--y=-- -z"]


def test_the_connector_of_lmcache_stands_in_the_same_place() -> None:
    of = pool(models=[model(engine=LMCACHE)])
    line = argv(of, of.spec.models[0], True, BLOCKS)
    assert json.loads(line[-1].removeprefix("--kv-transfer-config=")) == lmcache.transfer_config("0.5.6")


def test_every_pod_hashes_with_the_same_seed() -> None:
    assert environment()["PYTHONHASHSEED"] == "0"
