"""Who is let in: the right token, from a page of ours, by a name that only this machine has.

The token is a part of the path, not a cookie: cookies of a host are shared by all its ports, and so by other programs.
A foreign name in `Host` is how DNS rebinding looks; a foreign `Origin` is another site's page, which may open
WebSockets to this machine without asking.
"""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from aiohttp import web

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler, Middleware

HEADERS: Final = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; img-src 'self' data:; "
    "connect-src 'self' ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def is_loopback(host: str) -> bool:
    """Whether a name or address can only be this machine's own; no name is looked up."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _host_of(value: str) -> str | None:
    """The name in a `Host` header, without its port; None where that is none."""
    try:
        found = urlsplit(f"//{value}")
        _ = found.port
    except ValueError:
        return None
    return found.hostname if found.username is None and not (found.path or found.query or found.fragment) else None


def fault(request: web.Request, token: str) -> str | None:
    """Why a request is refused; None where it is not."""
    host = request.headers.get("Host", "")
    name = _host_of(host)
    if name is None or not is_loopback(name):
        return "not by this name"
    given = request.path.split("/", 2)[1]
    if not hmac.compare_digest(given.encode("utf-8", "replace"), token.encode()):
        return "this address is not known, or no longer: each start has another one"
    origin, upgrades = request.headers.get("Origin"), request.headers.get("Upgrade") is not None
    if origin != f"http://{host}" and (origin is not None or upgrades):
        return "not from a page of another site"
    return None


def guard(token: str) -> Middleware:
    """The middleware: whoever is not let in learns nothing else."""

    @web.middleware
    async def checked(request: web.Request, handler: Handler) -> web.StreamResponse:
        reason = fault(request, token)
        if reason is not None:
            return web.Response(status=403, text=f"403: {reason}\n", headers=HEADERS)
        return await handler(request)

    return checked


async def harden(request: web.Request, response: web.StreamResponse) -> None:
    """Headers of every response: nothing from elsewhere is loaded, and nothing tells the address to others."""
    response.headers.update(HEADERS)
    response.headers["Content-Security-Policy"] = _POLICY.format(host=request.host)
    response.headers.pop("Server", None)
