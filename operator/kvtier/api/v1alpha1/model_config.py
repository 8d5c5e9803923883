"""Where kvtier finds a model's config.json, which tells how large its cache is."""

from typing import Annotated, ClassVar

from pydantic import Field, StringConstraints

from kvtier.api.fields import ObjectName
from kvtier.api.rules import ApiModel, Rule
from kvtier.api.v1alpha1.variables import Key


class ConfigMapKey(ApiModel):
    """A key of a ConfigMap in the pool's namespace."""

    name: Annotated[ObjectName, Field(description="Name of the ConfigMap.")]
    key: Annotated[Key, Field(description="Key of its data that holds the document.")] = "config.json"


class ModelConfig(ApiModel):
    """A model's config.json, as in its Hugging Face repository."""

    inline: Annotated[
        str | None,
        StringConstraints(max_length=65_536, min_length=2),
        Field(description="The document itself."),
    ] = None
    config_map_key_ref: Annotated[ConfigMapKey | None, Field(description="ConfigMap that holds it.")] = None

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            message="modelConfigFrom needs one of inline and configMapKeyRef",
            cel="has(self.inline) != has(self.configMapKeyRef)",
            holds=lambda config: (config.inline is None) != (config.config_map_key_ref is None),
        ),
    )
