/** The transparency log for its readers (C2SP tlog-tiles), at `/log`. */

import express, { type Request, type Response, type Router } from 'express';
import type { LogReader } from '../../../application/log/read-log.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { toShortText } from '../../../domain/instant.ts';
import type { LogKey } from '../../../domain/log/log-key.ts';
import { parseTilePath, TILE_WIDTH } from '../../../domain/log/tiles.ts';
import { type AdminAccess, requireAdminKey } from '../admin/operator-router.ts';
import { requireOperator } from '../admin/operators.ts';
import type { AdminRoute } from '../admin/roles.ts';
import { neverStored } from '../message/head.ts';
import { answerFaults, answerProblem, methodNotAllowed, unknownPath } from '../message/problem-details.ts';
import { type OptionalPath, OTHER } from '../routes.ts';

export interface LogSurface extends AdminAccess {
  readonly reader: LogReader;
  /** Whether every client may read the log. Otherwise readers need the admin key. */
  readonly isPublic: boolean;
  readonly log: Log;
}

const READ_ONLY = methodNotAllowed('GET, HEAD');

/** Seconds. A full tile never changes. */
const FOR_EVER = 'max-age=31536000, immutable';
/** The tile is soon served with more hashes, at another path. */
const A_MINUTE = 'max-age=60';
const A_SECOND = 'max-age=1';

/** With `Service:Audit:Log:Key`. */
export function logPath(surface: LogSurface): OptionalPath {
  return { path: '/log', route: { ...OTHER, metric: 'log' }, router: logRouter(surface) };
}

function logRouter(surface: LogSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  // An error may not last: a tile that is missing now is there soon.
  router.use(neverStored);
  if (!surface.isPublic) router.use(requireAdminKey(surface));
  const permit = (route: AdminRoute) => requireOperator(surface.isPublic ? undefined : surface.operators, route);
  router
    .route('/checkpoint')
    .get(permit('GET /log/checkpoint'), (_request, response) => checkpoint(surface, response))
    .all(READ_ONLY);
  router
    .route('/keys')
    .get(permit('GET /log/keys'), async (_request, response) => {
      const keys = await surface.reader.keys();
      readable(surface, response, A_SECOND).json({ keys: keys.map(presentKey) });
    })
    .all(READ_ONLY);
  router
    .route('/tile/:level/*index')
    .get(permit('GET /log/tile/{level}/{index}'), (request, response) => tile(surface, request, response))
    .all(READ_ONLY);
  router.use(unknownPath);
  router.use(answerFaults(surface.log));
  return router;
}

async function checkpoint(surface: LogSurface, response: Response): Promise<void> {
  const published = (await surface.reader.state())?.published;
  if (published === undefined) {
    const detail =
      'The log shows no checkpoint: none was signed yet, too few witnesses have cosigned it, or a witness contradicts it.';
    return answerProblem(response, { status: 404, detail, reason: 'no_log_checkpoint' });
  }
  answerBytes(readable(surface, response, A_SECOND), 'text/plain; charset=utf-8', Buffer.from(published.note));
}

async function tile(surface: LogSurface, request: Request, response: Response): Promise<void> {
  const path = parseTilePath(request.path.slice('/tile/'.length));
  const bytes = path && (await surface.reader.tile(path));
  if (path === undefined || bytes === undefined) {
    return answerProblem(response, { status: 404, detail: 'The log has no such tile.', reason: 'no_log_tile' });
  }
  const age = path.width === TILE_WIDTH ? FOR_EVER : A_MINUTE;
  answerBytes(readable(surface, response, age), 'application/octet-stream', bytes);
}

function presentKey({ use, kid, publicKey, from, to }: LogKey): Record<string, unknown> {
  return {
    kid,
    use,
    ...(use === 'log' ? { vkey: publicKey } : { jwk: JSON.parse(publicKey) }),
    from: toShortText(from),
    to: to === undefined ? null : toShortText(to),
  };
}

/** Scripts of any origin may read a public log. */
function readable({ isPublic }: LogSurface, response: Response, age: string): Response {
  if (isPublic) response.set('Access-Control-Allow-Origin', '*');
  return response.set('Cache-Control', `${isPublic ? 'public' : 'private'}, ${age}`);
}

function answerBytes(response: Response, type: string, bytes: Uint8Array): void {
  response.set({ 'Content-Type': type, 'Content-Length': String(bytes.length) }).end(bytes);
}
