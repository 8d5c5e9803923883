"""``python adapter.py MODEL DIRECTORY SEED``: a random LoRA adapter for the attention of a small Llama.

Its weights are large enough to change the keys and values of every token, and so the answers.
"""

import json
import sys
from pathlib import Path

import torch
from safetensors.torch import save_file

_RANK = 8
_CONFIG = {
    "peft_type": "LORA",
    "r": _RANK,
    "lora_alpha": 32,
    "target_modules": ["q_proj", "k_proj", "v_proj"],
}


def main(model: Path, directory: Path, seed: int) -> None:
    """Write the adapter in PEFT format; the same bytes each time."""
    config = json.loads((model / "config.json").read_text())
    torch.manual_seed(seed)
    hidden, heads = config["hidden_size"], config["num_attention_heads"]
    outputs = {
        "q_proj": heads,
        "k_proj": config["num_key_value_heads"],
        "v_proj": config["num_key_value_heads"],
    }
    tensors = {}
    for layer in range(config["num_hidden_layers"]):
        for name, number in outputs.items():
            at = f"base_model.model.model.layers.{layer}.self_attn.{name}"
            tensors[f"{at}.lora_A.weight"] = torch.randn(_RANK, hidden) * hidden**-0.5
            tensors[f"{at}.lora_B.weight"] = torch.randn(number * config["head_dim"], _RANK) * _RANK**-0.5
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "adapter_config.json").write_text(json.dumps(_CONFIG))
    save_file(tensors, directory / "adapter_model.safetensors")
    for file in directory.iterdir():
        file.chmod(0o644)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
