"""The identity of the cluster that kvtier runs in: the uid of namespace kube-system, which exists in every cluster."""

from kvtier.api.kinds import NAMESPACE
from kvtier.api.sentences import sentences
from kvtier.facts.model import OwnCluster
from kvtier.kube.client import ApiError, KubeClient

_NAME = "kube-system"


class OwnClusterReader:
    """Reads the identity until it is known. It never changes."""

    def __init__(self, client: KubeClient) -> None:
        self._client = client
        self._known: OwnCluster | None = None

    async def read(self) -> OwnCluster:
        """The identity, or why it is unknown."""
        if self._known is None:
            found = await self._read()
            if not found.uid:
                return found
            self._known = found
        return self._known

    async def _read(self) -> OwnCluster:
        try:
            found = await self._client.get_metadata(NAMESPACE, None, _NAME)
        except ApiError as error:
            text = sentences(
                f"Namespace {_NAME}, whose uid identifies this cluster, could not be read: {error.message}",
                "Allow kvtier to get it: kubectl apply -f manifests/install.yaml",
            )
            return OwnCluster(error=text)
        if found is None:
            return OwnCluster(error=f"Namespace {_NAME}, whose uid identifies this cluster, does not exist.")
        return OwnCluster(str(found["metadata"]["uid"]))
