"""A public client of authlib. Each run is one step: the environment has the addresses, the standard input what the
step before wrote. What it writes is JSON."""

import json
import os
import sys

from authlib.common.security import generate_token
from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

env = os.environ
given = json.load(sys.stdin)
client = OAuth2Session(
    env["CLIENT_ID"],
    redirect_uri=env["REDIRECT_URI"],
    scope=env["SCOPE"],
    code_challenge_method="S256",
    state=given.get("state"),
)


def begin():
    verifier = generate_token(48)
    address, state = client.create_authorization_url(
        env["AUTHORIZATION_ENDPOINT"], code_verifier=verifier, resource=env["RESOURCE"]
    )
    return {"address": address, "state": state, "verifier": verifier}


def redeem():
    return client.fetch_token(
        env["TOKEN_ENDPOINT"], authorization_response=given["answer"], code_verifier=given["verifier"]
    )


def refresh():
    # By default authlib repeats the scope of the request, also what the person took away (RFC 6749, section 6).
    return client.refresh_token(
        env["TOKEN_ENDPOINT"], refresh_token=given["refresh_token"], scope=given["scope"]
    )


try:
    print(json.dumps({"begin": begin, "redeem": redeem, "refresh": refresh}[env["STEP"]]()))
except OAuthError as error:
    print(json.dumps({"error": error.error}))
