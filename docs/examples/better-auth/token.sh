#!/bin/sh
# Signs Ada in at the application, as its pages and its server do, and prints her access token for Mandate.
# `token.sh sign-out` ends her session at Better Auth, which then sends its logout tokens.
set -eu
provider=${PROVIDER:-http://127.0.0.1:4600}
mandate=${MANDATE:-http://127.0.0.1:5100}
back=https://portal.example/signed-in

as_ada() { curl --silent --show-error --fail-with-body --cookie ada.cookies --cookie-jar ada.cookies "$@"; }
# Sends a request, and prints where its answer leads.
next() { as_ada --output answer.html --write-out '%{redirect_url}' "$@"; }

if [ "${1:-}" = sign-out ]; then
  as_ada --header "Origin: $provider" --header 'Content-Type: application/json' --data '{}' --output answer.html \
    "$provider/api/auth/sign-out"
  rm -f answer.html
  exit
fi

rm -f ada.cookies
verifier=$(openssl rand -hex 32)
challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)
# Without `resource`, the access token is opaque.
page=$(next --get "$provider/api/auth/oauth2/authorize" --data response_type=code --data client_id=portal \
  --data-urlencode "redirect_uri=$back" --data-urlencode 'scope=openid offline_access jira:read jira:comment' \
  --data-urlencode "resource=$mandate" --data state=1 --data "nonce=$(openssl rand -hex 16)" \
  --data "code_challenge=$challenge" --data code_challenge_method=S256)
page=$(next --data-urlencode email=ada@people.example --data-urlencode password=notes-on-the-engine "$page")
case $page in *"/consent?"*) page=$(next --data agree=1 "$page") ;; esac
code=$(echo "$page" | sed 's/.*[?&]code=//; s/&.*//')
rm -f answer.html
curl --silent --show-error --fail-with-body "$provider/api/auth/oauth2/token" --data grant_type=authorization_code \
  --data client_id=portal --data "code=$code" --data-urlencode "redirect_uri=$back" \
  --data "code_verifier=$verifier" --data-urlencode "resource=$mandate" |
  sed 's/.*"access_token":"\([^"]*\)".*/\1/'
