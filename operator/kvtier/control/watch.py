"""Watches with kopf: every change goes into the store, and the affected pools go into the queue."""

from collections.abc import Awaitable, Callable, Iterator
from itertools import chain, repeat
from typing import Any

import aiohttp
import kopf
from kubernetes.aio.client.api_client import ApiClient

from kvtier import __version__
from kvtier.api.kinds import POOL, VOLUME, Resource
from kvtier.api.names import PoolKey
from kvtier.control.queue import WorkQueue
from kvtier.control.resync import SELECTOR
from kvtier.control.store import Store
from kvtier.kube.client import CHILDREN, CLUSTER_FACTS
from kvtier.kube.watching import Response

_WATCHED = (POOL, VOLUME, *CHILDREN, *CLUSTER_FACTS)
# kopf keeps a task and the object in memory until the object has had no event for this long. With small pages, the
# tasks of one page end before the next page arrives. Both limit the memory of a start with many pools.
_IDLE_SECONDS = 0.5
_PAGE = 100
_RECONNECT_SECONDS = 2.0


def registry(
    api: ApiClient, store: Store, queue: WorkQueue[PoolKey], head_start: Callable[[], Awaitable[None]]
) -> kopf.OperatorRegistry:
    """Handlers that store every change and queue the affected pools.

    kopf sends no request to the API server before `head_start` has returned.
    """
    handlers = kopf.OperatorRegistry()

    @kopf.on.login(registry=handlers)
    async def login(**_: Any) -> kopf.AiohttpSession:
        await head_start()
        return _session(await _credentials(api))

    for resource in _WATCHED:
        _register(handlers, resource, store, queue)
    return handlers


def _register(
    handlers: kopf.OperatorRegistry, resource: Resource, store: Store, queue: WorkQueue[PoolKey]
) -> None:
    @kopf.on.event(resource.group, resource.version, resource.plural, registry=handlers, id=resource.kind)
    async def changed(event: Any, **_: Any) -> None:
        note = store.remove if event["type"] == "DELETED" else store.put
        for key in note(resource.kind, event["object"]):
            queue.add(key)


async def _credentials(api: ApiClient) -> kopf.ConnectionInfo:
    """Address and credentials of the client. The token is read each time, because the token of a Pod rotates."""
    known = api.configuration
    token = await known.get_api_key_with_prefix("BearerToken")
    scheme, _, secret = (token or "").rpartition(" ")
    return kopf.ConnectionInfo(
        server=known.host,
        ca_path=known.ssl_ca_cert,
        ca_data=known.ca_cert_data,
        insecure=not known.verify_ssl,
        scheme=scheme or ("Bearer" if secret else None),
        token=secret or None,
        certificate_path=known.cert_file,
        private_key_path=known.key_file,
        proxy_url=known.proxy,
    )


def _session(info: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """The session that kopf would make, with responses that no object can break. kopf closes it."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=info.as_ssl_context()),
        headers={**info.as_http_headers(), "User-Agent": f"kvtier/{__version__}"},
        proxy=info.proxy_url,
        response_class=Response,
    )
    return kopf.AiohttpSession(server=info.server, aiohttp_session=session)


class _ForEver:
    """Seconds between the attempts at a request. kopf ends the process after the last attempt, so there is none."""

    def __iter__(self) -> Iterator[float]:
        return chain((1.0, 2.0, 5.0, 10.0), repeat(20.0))


def settings() -> kopf.OperatorSettings:
    """Settings of kopf that turn off all writes: no Events, no peering, no scanning of CRDs and namespaces."""
    chosen = kopf.OperatorSettings()
    chosen.posting.enabled = False
    chosen.peering.standalone = True
    chosen.scanning.disabled = True
    chosen.persistence.diffbase_storage = _NoDiffs()
    chosen.persistence.progress_storage = _NoProgress()
    chosen.queueing.idle_timeout = _IDLE_SECONDS
    chosen.watching.chunk_size = _PAGE
    chosen.watching.reconnect_backoff = _RECONNECT_SECONDS
    chosen.networking.error_backoffs = _ForEver()
    for resource in CHILDREN:
        chosen.watching.label_selectors[resource.group or "", resource.version, resource.plural] = SELECTOR
    return chosen


class _NoDiffs(kopf.DiffBaseStorage):
    """Stores no last state of an object, and returns nothing to compare.

    For every event, kopf prepares the comparison that create and update handlers need, even if there are none. That
    takes several deep copies of the object: a third of the CPU time of a start with 1,000 pools.
    """

    def build(self, **_: Any) -> Any:
        return {}

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        """Keeps nothing."""


class _NoProgress(kopf.ProgressStorage):
    """Stores no progress: level-based handlers have none."""

    def fetch(self, **_: Any) -> None:
        return None

    def store(self, **_: Any) -> None:
        """Keeps nothing."""

    def purge(self, **_: Any) -> None:
        """Removes nothing."""

    def touch(self, **_: Any) -> None:
        """Triggers nothing."""

    def clear(self, *, essence: Any) -> Any:
        return essence
