"""The document that says what a cache directory is."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kvtier.api.v1alpha1 import ServedModel
from kvtier.engines.fingerprint import descriptor, directory, fingerprint, text
from unit.builders import model, pool

BLOCKS = 16


def test_it_names_every_input_and_whose_directory_it_is() -> None:
    layout = [{"name": "VLLM_KV_CACHE_LAYOUT", "value": "HND"}]
    of = pool(models=[model(revision="main", kvCacheDtype="fp8", extraArgs=["-dcp", "2"], env=layout)])
    assert descriptor(of, of.spec.models[0], BLOCKS) == {
        "format": 1,
        "fingerprint": fingerprint(of.spec.models[0], BLOCKS),
        "pool": {"namespace": "team-a", "name": "chat", "uid": "pool-uid"},
        "identity": {
            "model": "meta-llama/Llama-3.1-8B-Instruct",
            "revision": "main",
            "backend": "Native",
            "version": "0.33",
            "kvCacheDtype": "fp8",
            "blockSize": 16,
            "blocksPerChunk": 16,
            "tensorParallelSize": 8,
            "arguments": ["-dcp=2"],
            "variables": ["VLLM_KV_CACHE_LAYOUT=HND"],
        },
    }


def test_another_size_of_chunks_is_another_directory() -> None:
    of = pool()
    served = of.spec.models[0]
    assert fingerprint(served, 32) != fingerprint(served, BLOCKS)
    assert directory(of, served, 32).endswith(fingerprint(served, 32))
    assert descriptor(of, served, 32)["identity"]["blocksPerChunk"] == 32
    assert descriptor(of, served, 32)["fingerprint"] == fingerprint(served, 32)


_CHANGES = st.fixed_dictionaries(
    {},
    optional={
        "model": st.sampled_from(["a/b", "a/c"]),
        "revision": st.sampled_from(["main", "v1"]),
        "kvCacheDtype": st.sampled_from(["auto", "fp8"]),
        "tensorParallelSize": st.sampled_from([1, 2]),
        "extraArgs": st.sampled_from([["--dtype=half"], ["--dtype", "half"], ["--enforce-eager"]]),
        "env": st.sampled_from([[{"name": "VLLM_KV_CACHE_LAYOUT", "value": "HND"}], [{"name": "A"}]]),
        "replicas": st.integers(0, 3),
        "maxNumSeqs": st.integers(1, 9),
    },
)


@given(one=_CHANGES, other=_CHANGES, blocks=st.tuples(st.sampled_from([16, 32]), st.sampled_from([16, 32])))
def test_equal_identities_are_equal_fingerprints(
    one: dict[str, Any], other: dict[str, Any], blocks: tuple[int, int]
) -> None:
    models = [ServedModel.model_validate(model(**changes)) for changes in (one, other)]
    both = [descriptor(pool(), served, number) for served, number in zip(models, blocks, strict=True)]
    same = both[0]["identity"] == both[1]["identity"]
    assert same == (both[0]["fingerprint"] == both[1]["fingerprint"])


def test_the_file_is_the_same_bytes_for_the_same_content() -> None:
    of = pool(models=[model(model="münchen/😀")])
    written = text(descriptor(of, of.spec.models[0], BLOCKS))
    assert written == text(dict(reversed(list(descriptor(of, of.spec.models[0], BLOCKS).items()))))
    assert written.endswith("}\n")
    assert "münchen/😀" in written
    assert json.loads(written) == descriptor(of, of.spec.models[0], BLOCKS)
