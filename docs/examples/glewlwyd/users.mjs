// A users service for the mode poll: GET /users/{sub} says whether that person is enabled in Glewlwyd's SQLite file.
// Glewlwyd's own API finds people by their user names alone.
//
//     GLEWLWYD_DATABASE=glewlwyd.db USERS_BEARER_TOKEN=<32 characters or more> node users.mjs

import { execFileSync } from 'node:child_process';
import { timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';

const { GLEWLWYD_DATABASE, USERS_BEARER_TOKEN, USERS_PORT = '5400' } = process.env;
const expected = Buffer.from(`Bearer ${USERS_BEARER_TOKEN}`);

/** `undefined` if no person has this sub. Glewlwyd's subs have 32 letters and digits. */
function isEnabled(sub) {
  if (!/^[A-Za-z0-9]{32}$/.test(sub)) return undefined;
  const query = `select gu_enabled from gpo_subject_identifier join g_user on gu_username = gposi_username
    where gposi_plugin_name = 'oidc' and gposi_sub = '${sub}'`;
  const row = execFileSync('sqlite3', ['-readonly', GLEWLWYD_DATABASE, query], { encoding: 'utf8' }).trim();
  return row === '' ? undefined : row === '1';
}

createServer((request, response) => {
  const answer = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const sent = Buffer.from(request.headers.authorization ?? '');
  if (sent.length !== expected.length || !timingSafeEqual(sent, expected)) return answer(401, {});
  const sub = /^\/users\/([^/?]+)$/.exec(request.url ?? '')?.[1];
  if (sub === undefined) return answer(400, {});
  try {
    const enabled = isEnabled(sub);
    return enabled === undefined ? answer(404, {}) : answer(200, { id: sub, enabled });
  } catch {
    return answer(503, {});
  }
}).listen(Number(USERS_PORT), '127.0.0.1');
