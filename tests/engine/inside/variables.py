"""The environment variables that vLLM reads."""

import vllm.envs


def answer() -> list[str]:
    return sorted(vllm.envs.environment_variables)
