/** From the query string of `GET /audit` to what is asked of the ledger (specification "GET /audit"). */

import type { LedgerQuestion } from '../../../application/ledger/query.ts';
import { type FieldError, fieldErrors } from '../../../domain/field-error.ts';
import { parseAgentId, parseTaskId } from '../../../domain/identifiers.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import type { LedgerDecision } from '../../../domain/ledger/record.ts';
import { parseRangeEnd, parseRangeStart } from '../../../domain/ledger/time-range.ts';
import { DEFAULT_PAGE, PAGE_SIZE_SENTENCE, parsePageSize, readQuery } from './query-parameters.ts';

export const CURSOR = 'cursor';
const PARAMETERS = ['sponsor', 'agent_id', 'task_id', 'from', 'to', 'decision', 'limit', CURSOR] as const;

/** As long as a subject's `sub` or a sponsor key may be. */
const MAX_SPONSOR_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

const POINT_SENTENCE =
  'Must be an ISO 8601 date or timestamp that exists, as 2026-03-01 or 2026-03-01T09:30:00Z; a + is written %2B.';

export type ParsedQuestion =
  | { readonly kind: 'parsed'; readonly question: LedgerQuestion }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

/** @param url of the request, as it came */
export function parseAuditQuestion(url: string): ParsedQuestion {
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
  // Nothing can be in such a range; an empty page would say that nothing happened.
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
