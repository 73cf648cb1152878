/** Routes of `/audit` (specification "Admin API"), relative to that path: records, checkpoints and proofs. */

import express, { type Request, type Response, type Router } from 'express';
import type { ProofOutcome } from '../../../application/ledger/prove.ts';
import type {
  CheckpointsPage,
  CheckpointsQuestion,
  LedgerAnswer,
  LedgerQuestion,
} from '../../../application/ledger/query.ts';
import type { Log } from '../../../application/ports/telemetry.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import type { LedgerDecision } from '../../../domain/ledger/record.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';
import { neverStored } from '../message/head.ts';
import { answerProof, answerRecords } from '../message/ledger-answers.ts';
import { answerFaults, answerInvalid, methodNotAllowed, unknownPath } from '../message/problem-details.ts';
import { CURSOR, DEFAULT_PAGE, PAGE_SIZE_SENTENCE, parseOrdinal, parsePageSize, readQuery } from '../message/query.ts';
import { forRequest, type Traceable } from '../traceable.ts';
import { type AdminAccess, requireAdminKey } from './requests.ts';

export interface AuditSurface extends AdminAccess {
  query(question: LedgerQuestion): Promise<LedgerAnswer>;
  checkpoints(question: CheckpointsQuestion): Promise<CheckpointsPage>;
  prove(seq: number): Promise<ProofOutcome>;
  readonly log: Log;
}

export function auditRouter(surface: Traceable<AuditSurface>): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(neverStored);
  router.use(requireAdminKey(surface));
  router
    .route('/')
    .get((request, response) => page(forRequest(surface, request), request, response))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/checkpoints')
    .get((request, response) => checkpoints(forRequest(surface, request), request, response))
    .all(methodNotAllowed('GET, HEAD'));
  router
    .route('/records/:seq/proof')
    .get((request, response) => proof(forRequest(surface, request), request, response))
    .all(methodNotAllowed('GET, HEAD'));
  router.use(unknownPath);
  router.use(answerFaults(surface.log));
  return router;
}

async function page(surface: AuditSurface, request: Request, response: Response): Promise<void> {
  const parsed = parseAuditQuestion(request.originalUrl);
  if (parsed.kind === 'invalid') return answerInvalid(response, parsed.errors);
  answerRecords(response, await surface.query(parsed.question));
}

async function checkpoints(surface: AuditSurface, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['after', 'limit']);
  const after = query.read('after', parseOrdinal, 'Must be a checkpoint_id.') ?? 0;
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const page = await surface.checkpoints({ after, limit });
  response.json({ checkpoints: page.checkpoints.map(presentCheckpoint), next_after: page.nextAfter ?? null });
}

/** For a path whose number is not a sequence number. */
const NO_SUCH_RECORD: ProofOutcome = { kind: 'not_found' };

async function proof(surface: AuditSurface, request: Request<{ seq: string }>, response: Response): Promise<void> {
  const seq = parseOrdinal(request.params.seq);
  answerProof(surface.log, request, response, seq === undefined ? NO_SUCH_RECORD : await surface.prove(seq));
}

const PARAMETERS = ['sponsor', 'agent_id', 'task_id', 'from', 'to', 'decision', 'limit', CURSOR] as const;

/** The maximum length of a person's `sub`, and of a sponsor key. */
const MAX_SPONSOR_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

const POINT_SENTENCE =
  'Must be an ISO 8601 date or timestamp that exists, as 2026-03-01 or 2026-03-01T09:30:00Z; a + is written %2B.';

type ParsedQuestion =
  | { readonly kind: 'parsed'; readonly question: LedgerQuestion }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

/** Parses the query string of `GET /audit`. @param url the request's URL, unchanged */
function parseAuditQuestion(url: string): ParsedQuestion {
  const query = readQuery(url, PARAMETERS);
  const filters = {
    sponsor: query.read('sponsor', parseSponsor, `Must be 1 to ${MAX_SPONSOR_LENGTH} characters.`),
    agentId: query.read('agent_id', parseAgentId, 'Must be an agent_id.'),
    taskId: query.read('task_id', parseTaskId, 'Must be a task_id: task_ and 26 characters.'),
    from: query.read('from', parseRangeStart, POINT_SENTENCE),
    to: query.read('to', parseRangeEnd, POINT_SENTENCE),
    decision: query.read('decision', parseDecision, 'Must be allow or deny.'),
  };
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  const cursor = query.read(CURSOR, parseCursor, 'Must be the next_cursor of a page.');
  const { from, to } = filters;
  // Such a range is always empty, and an empty page would suggest that nothing happened.
  const backwards = from !== undefined && to !== undefined && to < from;
  const errors = [...query.errors, ...(backwards ? fieldErrors('to', 'Must not be before from.') : [])];
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'parsed', question: { filters, limit, cursor } };
}

function parseSponsor(text: string): string | undefined {
  const usable = text.length >= 1 && text.length <= MAX_SPONSOR_LENGTH && !CONTROL.test(text);
  return usable ? text : undefined;
}

function parseDecision(text: string): LedgerDecision | undefined {
  return text === 'allow' || text === 'deny' ? text : undefined;
}
