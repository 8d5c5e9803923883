"""The Lustre volumes of the cluster, and which pool each concerns."""

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from kvtier.facts.objects import Object
from kvtier.facts.volumes import Volume, Volumes, volume

Owner = TypeVar("Owner")


class VolumeStore(Generic[Owner]):
    """Volumes by name. Who owned a volume's claim is remembered after the claim has gone.

    Volumes of other drivers are not kept.
    """

    def __init__(self, owner: Callable[[str, str], Owner | None]) -> None:
        """`owner` tells whose a claim is, by its namespace and name."""
        self._owner = owner
        self._owners: dict[str, Owner] = {}
        self._volumes: dict[str, Volume] = {}
        self._versions: dict[str, int] = {}
        self._built: Volumes | None = None

    def snapshot(self) -> Volumes:
        if self._built is None:
            self._built = Volumes(dict(self._volumes))
        return self._built

    def put(self, obj: Object) -> set[Owner]:
        """A volume as it is now. Answers whose it is, if that is new."""
        found = volume(obj)
        if found is None or not self._newer(found, obj):
            return set()
        changed = self._volumes.get(found.name) != found
        self._volumes[found.name] = found
        self._versions[found.name] = int(obj["metadata"]["resourceVersion"])
        self._built = None
        return self._told(found) if changed else set()

    def remove(self, obj: Object) -> set[Owner]:
        """A volume that is gone."""
        known = self._volumes.get(obj["metadata"]["name"])
        if known is None or known.uid != obj["metadata"]["uid"]:
            return set()
        del self._volumes[known.name], self._versions[known.name]
        told = self._told(known)
        self._owners.pop(known.name, None)
        return told

    def known(self) -> Iterable[Object]:
        """Just enough of every volume to tell whether a LIST has it."""
        return [{"metadata": {"name": v.name, "uid": v.uid}} for v in self._volumes.values()]

    def _newer(self, found: Volume, obj: Object) -> bool:
        known = self._volumes.get(found.name)
        version = int(obj["metadata"]["resourceVersion"])
        return known is None or known.uid != found.uid or version > self._versions[found.name]

    def _told(self, changed: Volume) -> set[Owner]:
        self._built = None
        owner = self._owner(*changed.claim) if changed.claim else None
        if owner is not None:
            self._owners[changed.name] = owner
        return {self._owners[changed.name]} if changed.name in self._owners else set()
