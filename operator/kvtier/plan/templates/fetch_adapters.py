"""Puts LoRA adapters where vLLM expects them. It runs in the image of the engine. Each argument is one, as JSON."""

import json
import os
import sys


def main() -> None:
    """Fetch every adapter. It may run again in the same Pod, and then completes what is missing."""
    for text in sys.argv[1:]:
        adapter = json.loads(text)
        os.makedirs(os.path.dirname(adapter["directory"]), exist_ok=True)
        (_link if adapter["model"].startswith("/") else _download)(**adapter)


def _link(directory: str, model: str, revision: str | None) -> None:
    """Another path of the same files. The files need not be visible here, only to the engine."""
    print(f"Linking {directory} to {model}, revision {revision}", flush=True)
    if not os.path.islink(directory):
        os.symlink(model, directory)


def _download(directory: str, model: str, revision: str | None) -> None:
    from huggingface_hub import snapshot_download

    print(f"Downloading {model}, revision {revision}, to {directory}", flush=True)
    snapshot_download(model, revision=revision, local_dir=directory)
    if not os.path.isfile(os.path.join(directory, "adapter_config.json")):
        sys.exit(f"{model} has no adapter_config.json. It must contain a LoRA adapter in PEFT format.")


main()
