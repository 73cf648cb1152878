"""Prints the person and the agents of the task token on standard input, with PyJWT. docs/sub-agents.md shows lines of this file."""

import os
import sys

import jwt

MANDATE_ISSUER = os.environ["MANDATE_ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]
MAX_DELEGATION_DEPTH = 3

keys = jwt.PyJWKClient(f"{MANDATE_ISSUER}/.well-known/jwks.json")


def agents_of(claims):
    """The agent that calls, then the one that handed the work to it, and so on."""
    agents, act = [], claims.get("act")
    while act is not None:
        agents.append((act["sub"], act["depth"]))
        act = act.get("act")
    depths = [depth for _, depth in agents]
    is_chain = depths == list(range(len(agents), 0, -1)) and all(sub.startswith("agent:") for sub, _ in agents)
    if not is_chain or not 1 <= len(agents) <= MAX_DELEGATION_DEPTH:
        raise jwt.InvalidTokenError("The chain of agents is not one that is accepted here.")
    return [sub for sub, _ in agents]


token = sys.stdin.read().strip()
try:
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
    print(claims["sub"], *agents_of(claims))
except jwt.PyJWTError:
    print("refused")
