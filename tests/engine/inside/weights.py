"""``python weights.py DIRECTORY``: random weights for the Llama that its config.json describes.

vLLM's own dummy weights are so small that the KV cache hardly changes the next token. These have the size of initial
weights of a training, so that wrong bytes in the cache change the answer.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

_SEED = 7


def main(directory: Path) -> None:
    """Write model.safetensors; the same bytes each time."""
    config = json.loads((directory / "config.json").read_text())
    torch.manual_seed(_SEED)
    tensors = {name: _random(*shape) for name, shape in _shapes(config).items()}
    weights = directory / "model.safetensors"
    save_file(tensors, weights, metadata={"format": "pt"})
    weights.chmod(0o644)


def _random(*shape: int) -> torch.Tensor:
    if len(shape) == 1:
        return torch.ones(shape, dtype=torch.bfloat16)
    return (torch.randn(shape) * shape[-1] ** -0.5).to(torch.bfloat16)


def _shapes(config: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    hidden, inner, vocabulary = config["hidden_size"], config["intermediate_size"], config["vocab_size"]
    heads, groups = (config[f"num_{kind}_heads"] * config["head_dim"] for kind in ("attention", "key_value"))
    layer = {
        "self_attn.q_proj": (heads, hidden),
        "self_attn.k_proj": (groups, hidden),
        "self_attn.v_proj": (groups, hidden),
        "self_attn.o_proj": (hidden, heads),
        "mlp.gate_proj": (inner, hidden),
        "mlp.up_proj": (inner, hidden),
        "mlp.down_proj": (hidden, inner),
        "input_layernorm": (hidden,),
        "post_attention_layernorm": (hidden,),
    }
    whole = {
        "model.embed_tokens": (vocabulary, hidden),
        "model.norm": (hidden,),
        "lm_head": (vocabulary, hidden),
    }
    for number in range(config["num_hidden_layers"]):
        whole |= {f"model.layers.{number}.{name}": shape for name, shape in layer.items()}
    return {f"{name}.weight": shape for name, shape in whole.items()}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
