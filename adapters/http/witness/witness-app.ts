/** The HTTP interface of a witness (C2SP tlog-witness v1.0.0): `mandate witness serve`, not a part of the service. */

import type { Request, Response } from 'express';
import type { Cosigned, CosignOutcome, RefusedHead } from '../../../application/log/cosign-checkpoint.ts';
import type { ReadinessCheck } from '../../../application/ports/runtime.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { encodeBase64 } from '../../../domain/log/verifier-key.ts';
import { readUtf8 } from '../../../domain/tokens/strict-utf8.ts';
import { expressApp } from '../express-app.ts';
import { readBody } from '../message/body.ts';
import { answerFaults, answerProblem, methodNotAllowed, unknownPath } from '../message/problem-details.ts';
import { healthRouter, withOptions } from '../public/health.ts';
import { messageClasses } from '../server/message-classes.ts';
import type { HttpServerOptions } from '../server/server.ts';
import { linesPerMinute, MINUTE_MS, throttledLog } from '../server/throttled-log.ts';

interface WitnessSurface {
  cosign(body: string): Promise<CosignOutcome>;
  readonly readiness: readonly ReadinessCheck[];
  readonly log: Log;
}

type Refusal = Exclude<CosignOutcome['kind'], 'cosigned' | 'other_old_size'>;

const REFUSALS: Readonly<Record<Refusal, { readonly status: number; readonly detail: string }>> = {
  malformed: {
    status: 400,
    detail: 'The body must be an old size, a consistency proof, an empty line and a signed checkpoint.',
  },
  old_size_above_new: { status: 400, detail: 'The old size is larger than the size of the checkpoint.' },
  untrusted_signature: { status: 403, detail: 'The checkpoint has no valid signature of a key of this log.' },
  unknown_log: { status: 404, detail: 'This witness does not watch a log with this origin.' },
  other_root: { status: 409, detail: 'This witness has cosigned another root for this size.' },
  wrong_clock: {
    status: 503,
    detail:
      'The clock of this witness was set, or is behind its last cosignature: it cosigns nothing until that is mended.',
  },
  inconsistent: { status: 422, detail: 'The proof does not show that the log only grew since the old size.' },
};

const ALLOWED = { '*': 'GET, HEAD, POST, OPTIONS', '/': 'OPTIONS' };

export function witnessApp(surface: WitnessSurface): Pick<HttpServerOptions, 'listener' | 'classes'> {
  const app = expressApp();
  app.use(healthRouter(surface.readiness));
  const logRefusal = refusalLog(surface.log);
  const logCosigned = cosignedLog(surface.log);
  app
    .route('/add-checkpoint')
    .post((request, response) => addCheckpoint(surface, { logRefusal, logCosigned }, request, response))
    .all(methodNotAllowed('POST'));
  app.use(unknownPath);
  app.use(answerFaults(boundedFaults(surface.log)));
  return { listener: withOptions(ALLOWED, app), classes: messageClasses(app) };
}

type Refused = Extract<CosignOutcome, { readonly kind: Refusal }>;

interface OutcomeLogs {
  logRefusal(refused: Refused): void;
  logCosigned(cosigned: Cosigned): void;
}

async function addCheckpoint(
  { cosign }: WitnessSurface,
  { logRefusal, logCosigned }: OutcomeLogs,
  request: Request,
  response: Response,
): Promise<void> {
  const body = await readBody(request);
  if (body.kind === 'aborted') return;
  // Replacing bytes that are not UTF-8 would cosign another text than the one that was sent.
  const text = body.kind === 'read' ? readUtf8(body.bytes) : undefined;
  const outcome: CosignOutcome = text === undefined ? { kind: 'malformed' } : await cosign(text);
  response.set('Cache-Control', 'no-store');
  switch (outcome.kind) {
    case 'cosigned':
      logCosigned(outcome);
      response.type('text/plain').send(outcome.line);
      return;
    case 'other_old_size':
      // Express would add a charset to the type, which the protocol fixes.
      response.status(409).setHeader('Content-Type', 'text/x.tlog.size');
      response.end(`${outcome.size}\n`);
      return;
    default:
      logRefusal(outcome);
      answerProblem(response, { ...REFUSALS[outcome.kind], reason: outcome.kind });
  }
}

/** How many refused checkpoints are remembered as logged. A log signs about one a minute. */
const MAX_LOGGED = 1000;

/**
 * A witness has no accounts and no rate limit, so its log is limited to this many lines a minute. Each reason has
 * separate lines: published notes with wrong proofs must not displace two roots of one size, which are evidence.
 */
const LINES_PER_MINUTE = 10;

/**
 * Logs each checkpoint once that its log has signed and that was refused, with the one cosigned before: if the log did
 * not grow from one to the other, the two notes prove it. Other refusals are counted. Only text that the log has signed
 * is logged and remembered: a request can repeat a published note with any other lines and any proof.
 */
function refusalLog(log: Log): (refused: Refused) => void {
  const count = throttledLog<{ readonly reason: string }>(log, 'requests were refused', MINUTE_MS);
  const mayLog = { other_root: linesPerMinute(LINES_PER_MINUTE), inconsistent: linesPerMinute(LINES_PER_MINUTE) };
  const logged = new Set<string>();
  const isNew = ({ kind, origin, size, root }: RefusedHead): boolean => {
    const head = `${kind} ${origin} ${size} ${encodeBase64(root)}`;
    if (logged.has(head) || !mayLog[kind]()) return false;
    if (logged.size === MAX_LOGGED) logged.clear();
    logged.add(head);
    return true;
  };
  return (refused) => {
    if (!('note' in refused) || !isNew(refused)) return count({ reason: refused.kind });
    const { kind, note, newest } = refused;
    log.warn('a checkpoint that its log has signed was not cosigned', { reason: kind, note, cosigned: newest?.note });
  };
}

/**
 * Logs each checkpoint that is cosigned for the first time, with the note: an auditor can compare a ledger with it. The
 * bound is for a log that signs without end. A published note that is sent again is no news.
 */
function cosignedLog(log: Log): (cosigned: Cosigned) => void {
  const bounds = new Map<string, () => boolean>();
  return ({ origin, size, note, isNew }) => {
    if (!isNew) return;
    const mayLog = bounds.get(origin) ?? linesPerMinute(LINES_PER_MINUTE);
    bounds.set(origin, mayLog);
    if (mayLog()) log.info('a checkpoint was cosigned', { origin, size, note });
  };
}

/** The same limit of log lines for faults of the state file, which any request can meet. */
function boundedFaults(log: Log): Log {
  const mayLog = linesPerMinute(LINES_PER_MINUTE);
  return { ...log, error: (...line) => (mayLog() ? log.error(...line) : undefined) };
}
