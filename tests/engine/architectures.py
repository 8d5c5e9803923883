"""The fields of config.json that decide the content of the KV cache, for several models."""

from typing import Any

Config = dict[str, Any]
_COMMON = {
    "vocab_size": 32000,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "intermediate_size": 1024,
}


def _llama(layers: int, hidden: int, heads: int, groups: int) -> Config:
    return _COMMON | {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": groups,
    }


LLAMA_8B = _llama(32, 4096, 32, 8)
LLAMA_70B = _llama(80, 8192, 64, 8)
QWEN_32B = _llama(64, 5120, 64, 8) | {
    "architectures": ["Qwen3ForCausalLM"],
    "model_type": "qwen3",
    "head_dim": 128,
}
# One latent per token and layer instead of keys and values.
DEEPSEEK_V3 = _llama(61, 7168, 128, 128) | {
    "architectures": ["DeepseekV3ForCausalLM"],
    "model_type": "deepseek_v3",
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_rope_head_dim": 64,
    "qk_nope_head_dim": 128,
    "v_head_dim": 128,
    "n_routed_experts": 8,
    "n_shared_experts": 1,
    "num_experts_per_tok": 2,
    "n_group": 1,
    "topk_group": 1,
    "moe_intermediate_size": 256,
    "first_k_dense_replace": 3,
    "moe_layer_freq": 1,
    "norm_topk_prob": True,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "routed_scaling_factor": 2.5,
}
# Five layers with a window of 1024 tokens, then one with full attention: 52 and 10.
GEMMA_27B = _llama(62, 5376, 32, 16) | {
    "architectures": ["Gemma3ForCausalLM"],
    "model_type": "gemma3_text",
    "head_dim": 128,
    "sliding_window": 1024,
    "layer_types": ["full_attention" if layer % 6 == 5 else "sliding_attention" for layer in range(62)],
    "query_pre_attn_scalar": 168,
    "hidden_activation": "gelu_pytorch_tanh",
}
# Every eighth layer has attention, the others have a state: 4 and 28.
JAMBA = _llama(32, 4096, 32, 8) | {
    "architectures": ["JambaForCausalLM"],
    "model_type": "jamba",
    "attn_layer_period": 8,
    "attn_layer_offset": 4,
    "expert_layer_period": 2,
    "expert_layer_offset": 1,
    "num_experts": 1,
    "num_experts_per_tok": 1,
    "mamba_d_state": 16,
    "mamba_d_conv": 4,
    "mamba_expand": 2,
    "mamba_dt_rank": 256,
}
