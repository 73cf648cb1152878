"""Verifies the task tokens on standard input, one a line, with authlib. docs/tool-servers.md shows lines of this file."""

import os
import sys

import requests
from authlib.jose import JsonWebKey, JsonWebToken
from authlib.jose.errors import InvalidTokenError, JoseError

MANDATE_ISSUER = os.environ["MANDATE_ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]

# Only ES256: the module's own `jwt` accepts every algorithm.
es256 = JsonWebToken(["ES256"])


def key_set():
    """authlib caches no keys and fetches none: do it here, at most once in 30 s for an unknown kid."""
    return JsonWebKey.import_key_set(requests.get(f"{MANDATE_ISSUER}/.well-known/jwks.json", timeout=10).json())


def is_task_token(claims):
    act = claims.get("act") or {}
    return (
        claims.header.get("typ") == "at+jwt"
        and not claims["sub"].lower().startswith("agent:")
        and act.get("sub", "").startswith("agent:")
        and act.get("depth") == 1
        and "act" not in act
        and "introspect_required" not in claims
    )


def verified(token, keys):
    essential = {name: {"essential": True} for name in ("exp", "iat", "sub", "jti")}
    expected = {"iss": MANDATE_ISSUER, "aud": AUDIENCE}
    claims = es256.decode(
        token,
        keys,
        claims_options=essential | {name: {"essential": True, "value": value} for name, value in expected.items()},
    )
    # Without this call only the signature is checked, and nothing of claims_options.
    claims.validate(leeway=60)
    if not is_task_token(claims):
        raise InvalidTokenError("The token is no task token that may be checked here.")
    return claims


known = key_set()
for line in sys.stdin:
    try:
        print("accepted", verified(line.strip(), known)["sub"])
    # An unknown kid is a ValueError.
    except (JoseError, ValueError):
        print("refused")
