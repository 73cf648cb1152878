#!/bin/sh
# Signs Ada in at the application, as its pages and its server do, and prints her access token for Mandate.
# `token.sh sign-out` ends her session at Glewlwyd, which then sends its logout tokens.
set -eu
glewlwyd=${GLEWLWYD:-http://127.0.0.1:4593}/api
mandate=${MANDATE:-http://127.0.0.1:5100}
back=${PORTAL:-http://127.0.0.1:5500}/signed-in

as_ada() { curl --silent --show-error --fail-with-body --cookie ada.cookies --cookie-jar ada.cookies "$@"; }
send() { as_ada --header 'Content-Type: application/json' --request "$1" --data "$3" "$glewlwyd$2"; }

if [ "${1:-}" = sign-out ]; then
  session=$(awk '$6 == "GLEWLWYD2_OIDC_SID" { print $7 }' ada.cookies)
  as_ada --request DELETE "$glewlwyd/oidc/session/$session"
  exit
fi

rm -f ada.cookies
verifier=$(openssl rand -hex 32)
challenge=$(printf %s "$verifier" | openssl dgst -sha256 -binary | openssl base64 -A | tr '+/' '-_' | tr -d =)
send POST /auth/ '{ "username": "ada", "password": "notes-on-the-engine" }'
send PUT /auth/grant/portal/ '{ "scope": "openid jira:read jira:comment" }'
# Without `resource`, the aud of the access token is a list of scopes.
code=$(as_ada --output tmp.html --write-out '%{redirect_url}' --get "$glewlwyd/oidc/auth" --data g_continue \
  --data response_type=code --data client_id=portal --data-urlencode "redirect_uri=$back" \
  --data-urlencode 'scope=openid jira:read jira:comment' --data-urlencode "resource=$mandate" --data state=1 \
  --data "nonce=$(openssl rand -hex 16)" --data "code_challenge=$challenge" --data code_challenge_method=S256 |
  sed 's/.*[?&]code=//; s/&.*//')
rm -f tmp.html
curl --silent --show-error --fail-with-body "$glewlwyd/oidc/token" --data grant_type=authorization_code \
  --data client_id=portal --data "code=$code" --data-urlencode "redirect_uri=$back" --data "code_verifier=$verifier" |
  sed 's/.*"access_token":"\([^"]*\)".*/\1/'
