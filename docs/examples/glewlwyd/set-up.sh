#!/bin/sh
# Sets Glewlwyd up for Mandate by its admin API, once: scopes, OpenID Connect, a person, and five clients. To change an
# address, delete the folder, and begin again with start.sh.
set -eu
glewlwyd=${GLEWLWYD:-http://127.0.0.1:4593}/api
mandate=${MANDATE:-http://127.0.0.1:5100}
console=${CONSOLE:-http://127.0.0.1:5600}
# The application with which people sign in.
portal=${PORTAL:-http://127.0.0.1:5500}

# Sends the JSON of the standard input.
send() {
  curl --silent --show-error --fail-with-body --cookie admin.cookies --cookie-jar admin.cookies \
    --header 'Content-Type: application/json' --request "$1" --data @- "$glewlwyd$2"
}
# The file as one JSON text.
json_text() { awk 'BEGIN { printf "\"" } { printf "%s\\n", $0 } END { printf "\"" }' "$1"; }

# Until it listens.
curl --silent --output /dev/null --retry 20 --retry-delay 1 --retry-connrefused "$glewlwyd/oidc"
echo '{ "username": "admin", "password": "password" }' | send POST /auth/
if send GET /scope/jira:read < /dev/null > /dev/null 2>&1; then
  rm admin.cookies
  echo 'This Glewlwyd is set up already. Delete its folder, and begin again with start.sh.' >&2
  exit 1
fi

# Users and clients have only the properties that are named here. The package's own list has no
# post_logout_redirect_uris, the addresses to which a browser may return after a logout.
send PUT /mod/user/database <<END
{ "module": "database", "name": "database", "display_name": "Users", "order_rank": 0, "readonly": false,
  "parameters": { "use-glewlwyd-connection": true, "data-format": {
    "roles": { "multiple": true, "read": true, "write": true, "profile-read": true, "profile-write": false } } } }
END
send PUT /mod/client/database <<END
{ "module": "database", "name": "database", "display_name": "Clients", "order_rank": 0, "readonly": false,
  "parameters": { "use-glewlwyd-connection": true, "data-format": {
    "redirect_uri": { "multiple": true, "read": true, "write": true },
    "authorization_type": { "multiple": true, "read": true, "write": true },
    "token_endpoint_auth_method": { "multiple": true, "read": true, "write": true },
    "client_secret": { "multiple": false, "read": true, "write": true },
    "jwks_uri": { "multiple": false, "read": true, "write": true },
    "post_logout_redirect_uris": { "multiple": true, "read": true, "write": true },
    "backchannel_logout_uri": { "multiple": false, "read": true, "write": true },
    "backchannel_logout_session_required": { "multiple": false, "read": true, "write": true } } } }
END
for module in user client; do send PUT "/mod/$module/database/reset" < /dev/null; done

# Without password_required, a signed-in session is enough for the scope.
for scope in jira:read jira:comment users:read; do
  echo "{ \"name\": \"$scope\", \"display_name\": \"$scope\", \"password_required\": true }" | send POST /scope/
done

# - resource-scope: the access tokens of an application that requests resource=<Mandate> have that as aud.
# - request-parameter-allow: without it, no client assertion is read. allow-non-oidc: without it, no client credentials.
# - front-channel-logout-allowed: without it, the button on the page about the end of the session does nothing.
# - additional-parameters: a claim of access tokens; claims: of ID tokens. sub is a random text that only Glewlwyd knows.
openssl ecparam -name prime256v1 -genkey -noout -out key.pem
openssl ec -in key.pem -pubout -out public.pem 2> /dev/null
send POST /mod/plugin/ <<END
{ "module": "oidc", "name": "oidc", "display_name": "OpenID Connect", "order_rank": 0, "parameters": {
  "iss": "$glewlwyd/oidc", "subject-type": "public",
  "jwt-type": "ecdsa", "jwt-key-size": "256", "jwks-show": true,
  "key": $(json_text key.pem), "cert": $(json_text public.pem),
  "access-token-duration": 3600, "refresh-token-duration": 1209600, "code-duration": 600, "refresh-token-rolling": true,
  "auth-type-code-enabled": true, "auth-type-refresh-enabled": true, "auth-type-client-enabled": true,
  "allow-non-oidc": true, "pkce-allowed": true,
  "request-parameter-allow": true, "request-maximum-exp": 3600, "client-jwks_uri-parameter": "jwks_uri",
  "client-jwks-parameter": "jwks", "client-pubkey-parameter": "pubkey",
  "resource-allowed": true,
  "resource-scope": { "openid": ["$mandate"], "jira:read": ["$mandate"], "jira:comment": ["$mandate"] },
  "session-management-allowed": true, "back-channel-logout-allowed": true, "front-channel-logout-allowed": true,
  "session-cookie-name": "GLEWLWYD2_OIDC_SID", "session-cookie-expiration": 2419200,
  "additional-parameters": [{ "user-parameter": "username", "token-parameter": "username" }],
  "claims": [
    { "name": "username", "user-property": "username", "type": "string", "mandatory": true, "on-demand": false, "scope": [] },
    { "name": "roles", "user-property": "roles", "type": "string", "mandatory": true, "on-demand": false, "scope": [] } ] } }
END

send POST /user/ <<END
{ "username": "ada", "password": "notes-on-the-engine", "name": "Ada Lovelace",
  "scope": ["openid", "jira:read", "jira:comment"], "roles": ["mandate-viewer", "mandate-responder"] }
END

# backchannel_logout_session_required 0, here and at mandate-authorize: the logout token names the person alone, and ends their tasks. Access tokens
# name no session, so a logout that names one ends none.
send POST /client/ <<END
{ "client_id": "portal", "name": "Portal", "confidential": false, "scope": [],
  "authorization_type": ["code", "refresh_token"], "token_endpoint_auth_method": ["none"],
  "redirect_uri": ["$portal/signed-in"],
  "backchannel_logout_uri": "$mandate/backchannel-logout", "backchannel_logout_session_required": "0" }
END
send POST /client/ <<END
{ "client_id": "mandate-page", "name": "Your agents", "confidential": true, "scope": [],
  "authorization_type": ["code"], "token_endpoint_auth_method": ["private_key_jwt"],
  "jwks_uri": "$mandate/.well-known/jwks.json", "redirect_uri": ["$mandate/me/callback"],
  "post_logout_redirect_uris": ["$mandate/me/signed-out"],
  "backchannel_logout_uri": "$mandate/backchannel-logout", "backchannel_logout_session_required": "1" }
END
send POST /client/ <<END
{ "client_id": "mandate-authorize", "name": "Programs that ask you", "confidential": true, "scope": [],
  "authorization_type": ["code"], "token_endpoint_auth_method": ["private_key_jwt"],
  "jwks_uri": "$mandate/.well-known/jwks.json", "redirect_uri": ["$mandate/oauth2/authorize/callback"],
  "backchannel_logout_uri": "$mandate/backchannel-logout", "backchannel_logout_session_required": "0" }
END
send POST /client/ <<END
{ "client_id": "mandate-console", "name": "Mandate's console", "confidential": true, "scope": [],
  "authorization_type": ["code"], "token_endpoint_auth_method": ["private_key_jwt"],
  "jwks_uri": "$mandate/.well-known/jwks.json", "redirect_uri": ["$console/callback"],
  "post_logout_redirect_uris": ["$console/signed-out"],
  "backchannel_logout_uri": "$mandate/backchannel-logout", "backchannel_logout_session_required": "1" }
END
send POST /client/ <<END
{ "client_id": "mandate", "name": "Mandate, for poll", "confidential": true, "scope": ["users:read"],
  "authorization_type": ["client_credentials"], "token_endpoint_auth_method": ["private_key_jwt"],
  "jwks_uri": "$mandate/.well-known/jwks.json", "redirect_uri": [] }
END
rm admin.cookies
echo "Glewlwyd is set up. Its issuer is $glewlwyd/oidc; ada's password is notes-on-the-engine."
