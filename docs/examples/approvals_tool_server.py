"""A tool server in Python: one route whose every call the person has to approve, with jwcrypto and the standard library."""

import hashlib
import http.client
import json
import os
import re
import time
import urllib.parse
import urllib.request
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from jwcrypto import jwk, jwt
from jwcrypto.common import JWException, base64url_encode

MANDATE_ISSUER = os.environ["MANDATE_ISSUER"]
AUDIENCE = os.environ["AUDIENCE"]

with open(os.environ["APPROVAL_KEY"], encoding="utf-8") as file:
    key = jwk.JWK.from_json(file.read())
with urllib.request.urlopen(f"{MANDATE_ISSUER}/.well-known/jwks.json", timeout=10) as published:
    keys = jwk.JWKSet.from_json(published.read())


def claims_of(token):
    """The claims of a task token for this server; None for any other token."""
    try:
        read = jwt.JWT(jwt=token, key=keys, algs=["ES256"])
        claims = json.loads(read.claims)
        header = json.loads(read.header)
    except (JWException, ValueError, KeyError, TypeError):
        return None
    act = claims.get("act") or {}
    is_task_token = (
        header.get("typ") == "at+jwt"
        and claims.get("iss") == MANDATE_ISSUER
        and claims.get("aud") == AUDIENCE
        and claims.get("exp", 0) + 60 > time.time() >= claims.get("iat", float("inf")) - 60
        and not str(claims.get("sub", "agent:")).lower().startswith("agent:")
        and str(act.get("sub")).startswith("agent:")
        and act.get("depth") == 1
        and "task" in claims
    )
    return claims if is_task_token else None


def ask_for_approval(token, task_id, digest, title):
    """Asks the control plane. Only the state "granted" lets the call through, and it comes exactly once."""
    now = int(time.time())
    request = jwt.JWT(
        header={"alg": "ES256", "typ": "approval-request+jwt", "kid": key["kid"]},
        claims={
            "iss": AUDIENCE,
            "aud": MANDATE_ISSUER,
            "iat": now,
            "exp": now + 60,
            "jti": str(uuid.uuid4()),
            "task_id": task_id,
            "digest": digest,
            "title": title,
            "lines": [],
        },
    )
    request.make_signed_token(key)
    form = urllib.parse.urlencode({"token": token, "request": request.serialize()}).encode()
    with urllib.request.urlopen(f"{MANDATE_ISSUER}/oauth2/approval", form, timeout=10) as answer:
        return json.load(answer)


class Handler(BaseHTTPRequestHandler):
    def decide(self):
        """`DELETE /pages/{name}`, without a body. Everything that the call does is in its method and target."""
        bearer = re.fullmatch(r"(?i:bearer) (\S+)", self.headers.get("authorization", ""))
        claims = bearer and claims_of(bearer[1])
        if not claims:
            return 401, {"error": "invalid_token"}
        page = re.fullmatch(r"/pages/([a-z0-9-]{1,60})", self.path)
        if page is None or "pages:delete" not in claims["scope"].split(" "):
            return 403, {"error": "insufficient_scope"}

        call = json.dumps([AUDIENCE, self.command, self.path])
        digest = base64url_encode(hashlib.sha256(call.encode()).digest())
        try:
            answer = ask_for_approval(bearer[1], claims["task"]["id"], digest, f"Delete the page {page[1]}")
        except (OSError, http.client.HTTPException, ValueError):
            return 503, {"error": "temporarily_unavailable"}
        state = answer.get("state")
        if state == "granted":
            return 200, {"deleted": page[1]}
        if state == "inactive":
            return 401, {"error": "invalid_token"}
        if state == "pending":
            waiting = {"approval_uri": answer["approval_uri"], "interval": answer["interval"]}
            return 403, {"error": "approval_required", "reason": "approval_required", **waiting}
        return 403, {"error": f"approval_{state}", "reason": f"approval_{state}"}

    def do_DELETE(self):
        status, body = self.decide()
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("cache-control", "no-store")
        if "interval" in body:
            self.send_header("retry-after", str(body["interval"]))
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "0"))), Handler)
print(f"Listening on http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
