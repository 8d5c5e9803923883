"""Images and the versions that they hold."""

from unit.builders import model, pool
from unit.tables import table


@table(
    "image, version",
    {
        "a release": ("vllm/vllm-openai:v0.33.0", "0.33"),
        "a release without v": ("vllm/vllm-openai:0.33.1", "0.33"),
        "a minor version": ("mirror.example:5000/vllm:0.33", "0.33"),
        "a longer number is another version": ("vllm/vllm-openai:v0.331", None),
        "the release before": ("vllm/vllm-openai:v0.32.0", "0.32"),
        "an older release is not supported": ("vllm/vllm-openai:v0.31.0", None),
        "a dot is a dot": ("vllm/vllm-openai:v0x33", None),
        "latest tells nothing": ("vllm/vllm-openai:latest", None),
        "a digest tells nothing": ("vllm/vllm-openai@sha256:" + "0" * 64, None),
        "a port is not a tag": ("mirror.example:5000/vllm", None),
    },
)
def test_an_image_tells_its_version_by_its_tag(image: str, version: str | None) -> None:
    (served,) = pool(models=[model(engine={"image": image, "version": "0.33"})]).spec.models
    assert served.engine.tag_version() == version


def test_an_explicit_version_wins_over_the_tag() -> None:
    (served,) = pool(models=[model(engine={"image": "mine:latest", "version": "0.33"})]).spec.models
    assert served.engine.supported_version() == "0.33"
