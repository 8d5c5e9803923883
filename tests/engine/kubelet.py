"""The command line and environment of a rendered container after the kubelet's $(NAME) expansion.

A port of Kubernetes' third_party/forked/golang/expansion/expand.go and of kubelet's makeEnvironmentVariables, with
no services in the namespace (their variables would only add names).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvtier.api.fields import Quantity

Manifest = dict[str, Any]


@dataclass(frozen=True)
class Started:
    """The command, the environment in addition to that of the image, and the user of a container."""

    command: list[str]
    arguments: list[str]
    variables: dict[str, str]
    user: int = 0
    group: int = 0


@dataclass(frozen=True)
class Volume:
    """A mount: a directory of this machine, or memory of a size (in the form of `mount`)."""

    directory: Path | None = None
    memory: str = ""
    read_only: bool = False


def started(
    deployment: Manifest, elsewhere: Mapping[str, str] | None = None, among: str = "containers"
) -> Started:
    """kvtier's own container of a Deployment (or of its `initContainers`): the first one.

    `elsewhere`: the values of variables from Secrets and ConfigMaps.
    """
    pod = deployment["spec"]["template"]["spec"]
    container, security = pod[among][0], pod["securityContext"]
    assert container["securityContext"]["readOnlyRootFilesystem"], "the Pods of these tests have no other"
    variables: dict[str, str] = {}
    for variable in container["env"]:
        name = variable["name"]
        taken = (elsewhere or {}).get(name, "") if "valueFrom" in variable else None
        variables[name] = expand(variable.get("value", ""), variables) if taken is None else taken
    command, arguments = (
        [expand(text, variables) for text in container.get(part, [])] for part in ("command", "args")
    )
    return Started(command, arguments, variables, security["runAsUser"], security["runAsGroup"])


def volumes(deployment: Manifest, claims: Mapping[str, Volume], directory: Path) -> dict[str, Volume]:
    """The mounts of the containers of a Deployment. emptyDirs are created below `directory`."""
    pod = deployment["spec"]["template"]["spec"]
    containers = [*pod.get("initContainers", []), *pod["containers"]]
    made = {one["name"]: _volume(one, claims, directory) for one in pod["volumes"]}
    return {mount["mountPath"]: made[mount["name"]] for one in containers for mount in one["volumeMounts"]}


def _volume(declared: Manifest, claims: Mapping[str, Volume], directory: Path) -> Volume:
    if "persistentVolumeClaim" in declared:
        return claims[declared["persistentVolumeClaim"]["claimName"]]
    empty = declared["emptyDir"]
    if empty.get("medium") == "Memory":
        return Volume(memory=str(Quantity(empty["sizeLimit"]).bytes))
    own = directory / declared["name"]
    own.mkdir(parents=True)
    own.chmod(0o777)
    return Volume(own)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`$(NAME)` becomes the value of NAME, if there is such a variable, and `$$` becomes `$`."""
    out, position = [], 0
    while position < len(text):
        taken, length = _token(text[position:], variables)
        out.append(taken)
        position += length
    return "".join(out)


def _token(rest: str, variables: Mapping[str, str]) -> tuple[str, int]:
    """The expansion at the start of `rest`, and how many characters it used."""
    if rest.startswith("$$"):
        return "$", 2
    name, closed, _ = rest[2:].partition(")")
    if rest.startswith("$(") and closed:
        return variables.get(name, f"$({name})"), len(name) + 3
    return rest[0], 1
