"""LoRA adapters that a model serves beside its own weights."""

import json
from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from kvtier.api.fields import DnsLabel
from kvtier.api.rules import ApiModel, Rule
from kvtier.data.engines import ENGINES

_REPOSITORY = r"[A-Za-z0-9][-._A-Za-z0-9]*(/[A-Za-z0-9][-._A-Za-z0-9]*)?"
# A path segment must not be empty and must not consist of dots only.
_PATH = r"(/[^/]*[^/.][^/]*)+"


class Adapter(ApiModel):
    """A LoRA adapter in PEFT format. vLLM caches its blocks under its name, model and revision."""

    name: Annotated[DnsLabel, Field(description="Name of the adapter: `model` in requests to the engine.")]
    model: Annotated[
        str,
        StringConstraints(pattern=f"^({_REPOSITORY}|{_PATH})$", max_length=512),
        Field(
            description="Hugging Face repository of the adapter, which an init container downloads with the token of "
            "tokenSecretRef, or an absolute path in the engine container, such as one of podTemplate.volumeMounts."
        ),
    ]
    revision: Annotated[
        str | None,
        Field(
            min_length=1,
            max_length=128,
            description="Commit or tag of the repository. For a path, any text: change it when you train the adapter "
            "again. A new revision makes only the cached blocks of this adapter cold. kvtier does not see when a "
            "branch moves, also not the default branch of an omitted revision: engines then read blocks of the "
            "earlier weights.",
        ),
    ] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="name of an adapter must not be a type of chat content, because vLLM uses such an adapter for all "
            "requests with this content: " + ", ".join(ENGINES.content_types),
            cel=f"!(self.name in {json.dumps(ENGINES.content_types)})",
            holds=lambda adapter: adapter.name not in ENGINES.content_types,
        ),
    )
