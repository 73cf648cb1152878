/** Routes of `/audit` (specification "Admin API"), relative to that path: records, checkpoints and proofs. */

import express, { type Request, type Response, type Router } from 'express';
import type { ProofOutcome } from '../../../application/ledger/prove.ts';
import type {
  CheckpointsPage,
  CheckpointsQuestion,
  LedgerAnswer,
  LedgerQuestion,
} from '../../../application/ledger/query.ts';
import type { LogProofOutcome } from '../../../application/log/prove-in-log.ts';
import { type Log, traceFields } from '../../../application/ports/telemetry.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { toShortText } from '../../../domain/instant.ts';
import { type Checkpoint, presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import { type LedgerDecision, presentRecord } from '../../../domain/ledger/record.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';
import { neverStored, queryParameters } from '../message/head.ts';
import {
  answerFaults,
  answerInvalid,
  answerProblem,
  methodNotAllowed,
  unknownPath,
} from '../message/problem-details.ts';
import { forRequest, type Traceable } from '../traceable.ts';
import {
  type AdminAccess,
  CURSOR,
  DEFAULT_PAGE,
  PAGE_SIZE_SENTENCE,
  parseOrdinal,
  parsePageSize,
  readQuery,
  requireAdminKey,
} from './requests.ts';

export interface AuditSurface extends AdminAccess {
  query(question: LedgerQuestion): Promise<LedgerAnswer>;
  checkpoints(question: CheckpointsQuestion): Promise<CheckpointsPage>;
  prove(seq: number): Promise<ProofOutcome>;
  /** `undefined` without the transparency log. */
  readonly proveInLog?: ((checkpoint: Checkpoint) => Promise<LogProofOutcome>) | undefined;
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

export function answerRecords(response: Response, answer: LedgerAnswer): void {
  if (answer.kind === 'foreign_cursor') {
    const sentence = 'Belongs to a page with other filters: send the filters of that page with it.';
    answerInvalid(response, fieldErrors(CURSOR, sentence));
    return;
  }
  response.json({
    records: answer.records.map(presentRecord),
    next_cursor: answer.nextCursor ?? null,
    archived_before: answer.archivedBefore === undefined ? null : toShortText(answer.archivedBefore),
  });
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
  const wantsLog = surface.proveInLog === undefined ? false : readWantsLog(request.originalUrl);
  if (typeof wantsLog !== 'boolean') return answerInvalid(response, wantsLog);
  const outcome = seq === undefined ? NO_SUCH_RECORD : await surface.prove(seq);
  if (!wantsLog || outcome.kind !== 'proof') return answerProof(surface.log, request, response, outcome);
  const { checkpoint } = outcome.proof;
  const logged = await surface.proveInLog?.(checkpoint);
  if (logged?.kind !== 'broken') {
    return answerProof(surface.log, request, response, outcome, { log: presentLogProof(logged) });
  }
  const fault = new Error('The transparency log is broken.');
  const { checkpointId } = checkpoint;
  surface.log.error('the transparency log does not produce the root that was signed', fault, {
    ...traceFields(request.trace),
    checkpoint: checkpointId,
  });
  answerProblem(response, {
    status: 500,
    detail: `The transparency log no longer leads from checkpoint ${checkpointId} to the root that was signed.`,
    checkpoint: checkpointId,
    reason: 'log_broken',
  });
}

const LOG = 'log';

/** Whether the query has `log=true`. Other parameters are ignored, as they are without the transparency log. */
function readWantsLog(url: string): boolean | readonly FieldError[] {
  const [first, ...more] = queryParameters(url).filter(({ name }) => name === LOG);
  if (first === undefined) return false;
  if (more.length > 0) return fieldErrors(LOG, 'Must not be repeated.');
  if (first.value === 'true' || first.value === 'false') return first.value === 'true';
  return fieldErrors(LOG, 'Must be true or false.');
}

/** Null while the log does not have the checkpoint. */
function presentLogProof(logged: LogProofOutcome | undefined): Record<string, unknown> | null {
  if (logged?.kind !== 'proof') return null;
  const { checkpointIndex, inclusionPath, note } = logged.proof;
  return { checkpoint_index: checkpointIndex, inclusion_path: inclusionPath, note };
}

export function answerProof(
  log: Log,
  request: Request<{ seq: string }>,
  response: Response,
  outcome: ProofOutcome,
  more: Readonly<Record<string, unknown>> = {},
): void {
  switch (outcome.kind) {
    case 'not_found':
      answerProblem(response, {
        status: 404,
        detail: 'No sealed record has this number: there is none, or it is not sealed yet.',
        reason: 'no_sealed_record',
      });
      return;
    case 'archived': {
      const { checkpointId } = outcome.checkpoint;
      answerProblem(response, {
        status: 410,
        detail: `The record has left the ledger with its month: the export that holds checkpoint ${checkpointId} proves it.`,
        checkpoint: checkpointId,
        reason: 'record_archived',
      });
      return;
    }
    case 'broken': {
      const { checkpointId } = outcome.checkpoint;
      const fault = new Error('The seal is broken.');
      log.error('the records do not produce the root that was signed', fault, {
        ...traceFields(request.trace),
        checkpoint: checkpointId,
      });
      answerProblem(response, {
        status: 500,
        detail: `The records that checkpoint ${checkpointId} covers no longer rebuild the root that was signed.`,
        checkpoint: checkpointId,
        reason: 'seal_broken',
      });
      return;
    }
    case 'proof':
      response.json({
        seq: outcome.proof.seq,
        checkpoint: presentCheckpoint(outcome.proof.checkpoint),
        leaf_index: outcome.proof.leafIndex,
        audit_path: outcome.proof.auditPath,
        ...more,
      });
  }
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
