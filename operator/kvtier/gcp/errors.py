"""One kind of error for all failures of calls to a Google API."""

import re
from collections.abc import Callable
from typing import Any

_LONGEST_MESSAGE = 300

_IMPLIED = {
    400: "Internal",
    401: "Unauthenticated",
    403: "PermissionDenied",
    404: "Unimplemented",
    429: "Unavailable",
    502: "Unavailable",
    503: "Unavailable",
    504: "Unavailable",
}
"""The canonical code for an HTTP status without one. Such a response is not from the API, so a 404 does not mean that
the resource does not exist (grpc/grpc, doc/http-grpc-status-mapping.md)."""


class GoogleError(Exception):
    """An error of a Google API.

    `code` is the HTTP status, 0 if there was none. `status` is the canonical code in CamelCase, such as AlreadyExists
    (googleapis, google/rpc/code.proto). It is more precise: 409 may be AlreadyExists or Aborted.
    """

    usual = "Unknown"

    def __init__(self, code: int, message: str, status: str = "") -> None:
        super().__init__(tidy(message))
        self.code = code
        self.status = status or self.usual


class NoCredentialsError(GoogleError):
    """There are no credentials, or Google does not accept them."""

    usual = "Unauthenticated"


class NoAnswerError(GoogleError):
    """The API could not be reached, or did not respond in time."""

    usual = "Unavailable"


class BadAnswerError(GoogleError):
    """The response is not from the API."""

    usual = "Internal"


def tidy(message: str) -> str:
    """At most 300 characters of the message, without object addresses and query strings, which always differ."""
    message = re.sub(r"<?\S+ object at 0x[0-9a-f]+>?", "", message[:2000])
    message = re.sub(r"(/\S*?)\?[^\s)]+", r"\1", message)
    return " ".join(message.split())[:_LONGEST_MESSAGE]


def camel(code: str) -> str:
    """A canonical code's name, such as ALREADY_EXISTS, in CamelCase."""
    return "".join(word.capitalize() for word in code.split("_"))


def translating(call: Callable[[], Any]) -> Any:
    """The result of `call`. Raises its error as GoogleError. Imports Google's libraries."""
    try:
        return call()
    except GoogleError:
        raise
    except Exception as error:  # the libraries do not document what they raise
        raise _translated(error) from error


def _translated(error: Exception) -> GoogleError:
    from google.api_core.exceptions import GoogleAPICallError
    from google.auth.exceptions import GoogleAuthError
    from requests import exceptions

    if isinstance(error, GoogleAPICallError):
        kind = NoCredentialsError if error.code == 401 else GoogleError
        message = re.sub(r"^[A-Z]+ https?://\S+: ", "", error.message)
        return kind(int(error.code or 0), message, _status(error))
    if isinstance(error, GoogleAuthError):
        return NoCredentialsError(0, _first_words(error))
    if isinstance(error, exceptions.Timeout):
        return NoAnswerError(0, str(error), "DeadlineExceeded")
    if isinstance(error, exceptions.ConnectionError):
        return NoAnswerError(0, str(error))
    return BadAnswerError(0, f"{type(error).__name__}: {error}")


def _status(error: Any) -> str:
    try:
        given = error.response.json()["error"]["status"]
    except (AttributeError, LookupError, TypeError, ValueError):
        given = ""
    known = isinstance(given, str) and re.fullmatch(r"[A-Z]+(_[A-Z]+)*", given)
    return camel(given) if known else _IMPLIED.get(error.code, "Unknown")


def _first_words(error: BaseException) -> str:
    """The innermost message: google-auth nests its errors, together with the response."""
    inner = error.args[0] if error.args else ""
    return _first_words(inner) if isinstance(inner, BaseException) else str(inner)
