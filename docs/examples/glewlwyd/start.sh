#!/bin/sh
# Runs Glewlwyd 2.7 of Debian in this folder, for a trial on one machine: plain HTTP on loopback, a SQLite file, and the
# package's first administrator (admin, password). The service of the package stays off.
set -eu
port=${GLEWLWYD_PORT:-4593}

if [ ! -e glewlwyd.db ]; then
  sqlite3 glewlwyd.db < /usr/share/dbconfig-common/data/glewlwyd/install/sqlite3
  # In the package, config.json is a link to a folder, and the pages stay blank.
  cp -RL /usr/share/glewlwyd/webapp pages
  rm -R pages/config.json
  cp /usr/share/glewlwyd/templates/config.json pages/
fi

# No slash at the end of external_url: the issuer and all endpoints begin with it.
cat > glewlwyd.conf <<END
port=$port
bind_address="127.0.0.1"
external_url="http://127.0.0.1:$port"
login_url="login.html"
api_prefix="api"
static_files_path="$PWD/pages/"
static_files_mime_types=(
  { extension=".html" mime_type="text/html" },
  { extension=".css" mime_type="text/css" },
  { extension=".js" mime_type="application/javascript" },
  { extension=".json" mime_type="application/json" }
)
log_mode="console"
log_level="INFO"
cookie_secure=0
session_key="GLEWLWYD2_SESSION_ID"
admin_scope="g_admin"
profile_scope="g_profile"
user_module_path="/usr/lib/glewlwyd/user"
client_module_path="/usr/lib/glewlwyd/client"
user_auth_scheme_module_path="/usr/lib/glewlwyd/scheme"
plugin_module_path="/usr/lib/glewlwyd/plugin"
hash_algorithm="SHA512"
database={ type="sqlite3" path="$PWD/glewlwyd.db" };
END
exec glewlwyd -c glewlwyd.conf
