"""An agent that reads two issues for a person, at a tool server over HTTP. It needs authlib and requests.

If the tool server asks the person for a yes, the agent shows the address, and waits for the answer.
"""

import os
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import requests
from authlib.integrations.requests_client import OAuth2Session
from authlib.oauth2.rfc7523 import PrivateKeyJWT, private_key_jwt_sign

try:
    from joserfc.jwk import ECKey  # where newer versions of authlib take their keys from
except ImportError:
    from authlib.jose import ECKey

MANDATE_ISSUER = os.environ["MANDATE_ISSUER"]
AGENT_ID = os.environ["AGENT_ID"]
KEY = ECKey.import_key(Path(os.environ["KEY_FILE"]).read_text())
SUBJECT_TOKEN = os.environ["SUBJECT_TOKEN"]
RESOURCE = os.environ["RESOURCE"]
# The tool server's address, if it differs from the audience of its tokens.
TOOL_SERVER = os.environ.get("TOOL_SERVER", RESOURCE)

TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"
TIMEOUT = 10
PATIENCE = 30
APPROVAL_PATIENCE = 600


class NotNow(Exception):
    """Temporarily unavailable: retry after these seconds, a minute at most."""

    def __init__(self, seconds, url):
        super().__init__(f"{urlsplit(url).netloc} is unavailable. Later, in {seconds} s")
        self.seconds = seconds


class ApprovalRequired(Exception):
    """A person has to approve this call. The same call goes through once after the yes."""

    def __init__(self, uri, seconds):
        super().__init__(f"No answer yet: {uri}")
        self.uri = uri
        self.seconds = seconds


class Refused(Exception):
    """Do not repeat the request. `access_denied` and `invalid_grant` also end the task."""


def assertion():
    """Valid for one request. authlib's own live for an hour; five minutes are allowed."""
    return private_key_jwt_sign(KEY, AGENT_ID, MANDATE_ISSUER, alg="ES256", expires_in=60)


class ShortAssertions(PrivateKeyJWT):
    def sign(self, auth, token_endpoint):
        return assertion()


def checked(answer):
    """authlib would drop Retry-After and `reason`."""
    if answer.status_code == 200:
        return answer
    wait = answer.headers.get("Retry-After", "")
    seconds = min(int(wait), 60) if wait.isdigit() else 1
    if answer.status_code in (429, 503):
        raise NotNow(seconds, answer.url)
    try:
        body = answer.json()
    except ValueError:
        body = None
    if not isinstance(body, dict):
        body = {}
    reason = body.get("reason") or body.get("error") or f"status {answer.status_code}"
    uri = str(body.get("approval_uri"))
    # Only the control plane's page is shown to a person: a tool server could name any other.
    if reason == "approval_required" and uri.startswith(f"{MANDATE_ISSUER}/me/approvals/"):
        raise ApprovalRequired(uri, seconds)
    raise Refused(reason)


def patiently(send):
    """Each attempt signs a new assertion. An adapter's own retries would send the old one again."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return send()
        except (NotNow, requests.ConnectionError, requests.Timeout) as failure:
            later = failure if isinstance(failure, NotNow) else NotNow(1, failure.request.url)
            if time.monotonic() + later.seconds > deadline:
                raise later from None
            time.sleep(later.seconds)


class Task:
    def __init__(self, scope):
        # Without `scope` and `token_endpoint`: authlib's own refresh sends no `resource`, and requests a scope again that
        # the task gave up.
        self.session = OAuth2Session(
            AGENT_ID,
            KEY,
            token_endpoint_auth_method="private_key_jwt",
            revocation_endpoint_auth_method="private_key_jwt",
        )
        self.session.register_client_auth_method(ShortAssertions())
        for hook in ("access_token_response", "refresh_token_response"):
            self.session.register_compliance_hook(hook, checked)

        metadata = f"{MANDATE_ISSUER}/.well-known/oauth-authorization-server"
        known = patiently(lambda: checked(requests.get(metadata, timeout=TIMEOUT))).json()
        self.token_endpoint = known["token_endpoint"]
        self.revocation_endpoint = known["revocation_endpoint"]
        self._keep(
            lambda: self.session.fetch_token(
                self.token_endpoint,
                grant_type="urn:ietf:params:oauth:grant-type:token-exchange",
                subject_token=SUBJECT_TOKEN,
                subject_token_type=f"{TOKEN_TYPE}access_token",
                actor_token=assertion(),
                actor_token_type=f"{TOKEN_TYPE}jwt",
                resource=RESOURCE,
                scope=scope,
                timeout=TIMEOUT,
            )
        )

    def _keep(self, request):
        asked = time.monotonic()
        token = patiently(request)
        self.grant = token["refresh_token"]
        self.scope = token["scope"]
        self.access_token = token["access_token"]
        self.renew_at = asked + 0.6 * token["expires_in"]

    def renew(self, **scope):
        """With a `scope`, the task gives up all others permanently."""
        self._keep(
            lambda: self.session.refresh_token(
                self.token_endpoint, self.grant, resource=RESOURCE, timeout=TIMEOUT, **scope
            )
        )

    def get(self, path):
        """Repeats the call if it got no answer, which a GET allows, and while it waits for a person."""
        deadline = time.monotonic() + APPROVAL_PATIENCE
        shown = set()
        while True:
            if time.monotonic() > self.renew_at:
                self.renew()
            try:
                return patiently(lambda: self._get(path))
            except ApprovalRequired as required:
                if required.uri not in shown:
                    shown.add(required.uri)
                    print(f"Please answer at {required.uri}", file=sys.stderr, flush=True)
                if time.monotonic() + required.seconds > deadline:
                    raise
                time.sleep(required.seconds)

    def _get(self, path):
        """The token goes to this tool server only: no redirect is followed."""
        headers = {"Authorization": f"Bearer {self.access_token}"}
        answer = requests.get(f"{TOOL_SERVER}{path}", headers=headers, timeout=TIMEOUT, allow_redirects=False)
        return checked(answer).text

    def end(self):
        patiently(
            lambda: checked(self.session.revoke_token(self.revocation_endpoint, self.grant, timeout=TIMEOUT))
        )


def main():
    task = Task("jira:read jira:comment")
    try:
        task.renew(scope="jira:read")
        for issue in ("OPS-7", "OPS-8"):
            print(task.get(f"/issues/{issue}"), flush=True)
    finally:
        task.end()


if __name__ == "__main__":
    try:
        main()
    except (NotNow, ApprovalRequired) as later:
        sys.exit(str(later))
    except Refused as refusal:
        sys.exit(f"No: {refusal}")
