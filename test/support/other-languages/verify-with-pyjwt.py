"""Verifies the task tokens on standard input, one a line, with PyJWT. docs/tool-servers.md shows lines of this file."""

import os
import sys

import jwt

MANDATE_ISSUER = os.environ["MANDATE_ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]

keys = jwt.PyJWKClient(f"{MANDATE_ISSUER}/.well-known/jwks.json")


def is_task_token(claims):
    act = claims.get("act") or {}
    return (
        not claims["sub"].lower().startswith("agent:")
        and act.get("sub", "").startswith("agent:")
        and act.get("depth") == 1
        and "act" not in act
        and "introspect_required" not in claims
    )


def verified(token):
    if jwt.get_unverified_header(token).get("typ") != "at+jwt":
        raise jwt.InvalidTokenError("The token is not of the type at+jwt.")
    claims = jwt.decode(
        token,
        keys.get_signing_key_from_jwt(token).key,
        algorithms=["ES256"],
        issuer=MANDATE_ISSUER,
        audience=AUDIENCE,
        leeway=60,
        options={"require": ["exp", "iat", "sub", "jti"]},
    )
    if not is_task_token(claims):
        raise jwt.InvalidTokenError("The token is no task token that may be checked here.")
    return claims


for line in sys.stdin:
    try:
        print("accepted", verified(line.strip())["sub"])
    except jwt.PyJWTError:
        print("refused")
