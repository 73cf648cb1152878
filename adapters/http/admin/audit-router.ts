/** Routes of `/audit` (specification "Admin API"), relative to that path: records, checkpoints and proofs. */

import type { Request, Response, Router } from 'express';
import type { BlockMemory, ProofOutcome } from '../../../application/ledger/prove.ts';
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
import { type Checkpoint, presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import { type LedgerDecision, type LedgerEvent, ledgerEvents } from '../../../domain/ledger/record.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';
import { queryParameters } from '../message/head.ts';
import { answerProof, answerRecords } from '../message/ledger-answers.ts';
import { answerInvalid, answerProblem } from '../message/problem-details.ts';
import {
  AUDIENCE_SENTENCE,
  CURSOR,
  DEFAULT_PAGE,
  PAGE_SIZE_SENTENCE,
  parseAudience,
  parseOrdinal,
  parsePageSize,
  parseSubject,
  readPage,
  readQuery,
  SUBJECT_SENTENCE,
} from '../message/query.ts';
import { type StreamSurface, streamRecords } from './audit-stream.ts';
import { type AdminAccess, type OperatorRequest, operatorRouter } from './operator-router.ts';

export interface AuditSurface extends AdminAccess {
  query(question: LedgerQuestion): Promise<LedgerAnswer>;
  checkpoints(question: CheckpointsQuestion): Promise<CheckpointsPage>;
  /** @param memory of a caller that proves one record after the other */
  prove(seq: number, memory?: BlockMemory): Promise<ProofOutcome>;
  /** `undefined` without the transparency log. */
  readonly proveInLog?: ((checkpoint: Checkpoint) => Promise<LogProofOutcome>) | undefined;
  /** `undefined` without `Service:Operators`: the path is then unknown. */
  readonly streaming?: StreamSurface | undefined;
  readonly log: Log;
}

export function auditRouter(surface: AuditSurface): Router {
  const { streaming } = surface;
  return operatorRouter(surface, {
    mount: '/audit',
    reads: {
      'GET /audit': page,
      'GET /audit/checkpoints': answerCheckpoints,
      'GET /audit/records/{seq}/proof': proof,
      ...(streaming && {
        'GET /audit/stream': (_surface, request, response) => streamRecords(streaming, request, response),
      }),
    },
    changes: {},
  });
}

async function page(surface: AuditSurface, request: Request, response: Response): Promise<void> {
  const parsed = parseAuditQuestion(request.originalUrl, { hasOperators: surface.operators !== undefined });
  if (parsed.kind === 'invalid') return answerInvalid(response, parsed.errors);
  answerRecords(response, await surface.query(parsed.question));
}

export async function answerCheckpoints(
  surface: Pick<AuditSurface, 'checkpoints'>,
  request: Request,
  response: Response,
): Promise<void> {
  const query = readQuery(request.originalUrl, ['after', 'limit']);
  const after = query.read('after', parseOrdinal, 'Must be a checkpoint_id.') ?? 0;
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const page = await surface.checkpoints({ after, limit });
  response.json({ checkpoints: page.checkpoints.map(presentCheckpoint), next_after: page.nextAfter ?? null });
}

/** For a path whose number is not a sequence number. */
const NO_SUCH_RECORD: ProofOutcome = { kind: 'not_found' };

async function proof(surface: AuditSurface, request: OperatorRequest, response: Response): Promise<void> {
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

export const PARAMETERS = ['sponsor', 'agent_id', 'task_id', 'from', 'to', 'decision', 'limit', CURSOR] as const;
export const OPERATOR_PARAMETERS = ['event', 'audience'] as const;
/** The search of the console has these too. */
export const CONSOLE_PARAMETERS = ['reason', 'order'] as const;

export const POINT_SENTENCE =
  'Must be an ISO 8601 date or timestamp that exists, as 2026-03-01 or 2026-03-01T09:30:00Z; a + is written %2B.';

type ParsedQuestion =
  | { readonly kind: 'parsed'; readonly question: LedgerQuestion }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

/**
 * Parses the query string of `GET /audit`, or of the console's search.
 *
 * @param url the request's URL, unchanged
 * @param options.hasOperators without `Service:Operators` there are no further filters
 */
export function parseAuditQuestion(
  url: string,
  { hasOperators, isConsole = false }: { readonly hasOperators: boolean; readonly isConsole?: boolean },
): ParsedQuestion {
  const known = [...PARAMETERS, ...(hasOperators ? OPERATOR_PARAMETERS : []), ...(isConsole ? CONSOLE_PARAMETERS : [])];
  const query = readQuery(url, known);
  const filters = {
    sponsor: query.read('sponsor', parseSubject, SUBJECT_SENTENCE),
    agentId: query.read('agent_id', parseAgentId, 'Must be an agent_id.'),
    taskId: query.read('task_id', parseTaskId, 'Must be a task_id: task_ and 26 characters.'),
    from: query.read('from', parseRangeStart, POINT_SENTENCE),
    to: query.read('to', parseRangeEnd, POINT_SENTENCE),
    decision: query.read('decision', parseDecision, 'Must be allow or deny.'),
    event: hasOperators ? query.read('event', parseEvent, 'Must be an event of the ledger.') : undefined,
    audience: hasOperators ? query.read('audience', parseAudience, AUDIENCE_SENTENCE) : undefined,
    ...(isConsole && {
      reason: query.read('reason', parseReason, 'Must be a reason of the ledger, as task_revoked.'),
      newestFirst: query.read('order', parseOrder, 'Must be newest or oldest.') !== 'oldest',
    }),
  };
  const page = readPage(query, parseCursor);
  const { from, to } = filters;
  // Such a range is always empty, and an empty page would suggest that nothing happened.
  const backwards = from !== undefined && to !== undefined && to < from;
  const errors = [...query.errors, ...(backwards ? fieldErrors('to', 'Must not be before from.') : [])];
  return errors.length > 0 ? { kind: 'invalid', errors } : { kind: 'parsed', question: { filters, ...page } };
}

function parseDecision(text: string): LedgerDecision | undefined {
  return text === 'allow' || text === 'deny' ? text : undefined;
}

function parseReason(text: string): string | undefined {
  return /^[a-z0-9_]{1,64}$/.test(text) ? text : undefined;
}

function parseOrder(text: string): 'newest' | 'oldest' | undefined {
  return text === 'newest' || text === 'oldest' ? text : undefined;
}

function parseEvent(text: string): LedgerEvent | undefined {
  return ledgerEvents.find((event) => event === text);
}
