#!/bin/sh
# Writes the new records of Mandate's ledger into a folder, as OCSF events: one file for each run that found some.
# A file appears when it is complete. The file `position` in the folder has the last exported sequence number.
#
#   export-ocsf.sh FOLDER
#
# Run it every minute, with the service's settings Service__Database__… in the environment. It exits with the code of
# `mandate audit-export`. It needs flock (util-linux). $MANDATE_COMMAND is the command, if it is not `mandate`.
set -eu
# Events name people: only this user and its group may read the files.
umask 027
folder=${1:?the folder for the events}

# Two runs at once would write the same records twice. The later run leaves them to the earlier one.
exec 9> "$folder/.lock"
flock -n 9 || exit 0

after=0
[ ! -e "$folder/position" ] || read -r after < "$folder/position"
events="$folder/mandate-$(printf '%016d' "$after").ndjson"

# The file exists already if a run was killed between the two renames: its records are not exported again.
if [ ! -e "$events" ]; then
  ${MANDATE_COMMAND:-mandate} audit-export --format ocsf --after "$after" > "$folder/.new"
  [ -s "$folder/.new" ] || exit 0
  mv "$folder/.new" "$events"
fi

tail -n 1 "$events" | sed 's/.*"sequence":\([0-9]*\).*/\1/' > "$folder/.position"
mv "$folder/.position" "$folder/position"
