/** Reads what the screen *Ledger* shows. Its parameters are those of `GET /audit`; an empty field of the form is ignored. */

import type { Request } from 'express';
import { plusSeconds, toShortText } from '../../../../domain/instant.ts';
import { OPERATOR_PARAMETERS, PARAMETERS, parseAuditQuestion } from '../../admin/audit-router.ts';
import { queryParameters } from '../../message/head.ts';
import { CURSOR, FOREIGN_CURSOR_SENTENCE } from '../../message/query.ts';
import type { Asked, Shown } from '../asked.ts';
import { withoutEmpty } from '../filters.ts';
import { assets } from '../layout.ts';
import { type LedgerView, renderLedger, type SearchField, searchFields } from './ledger.ts';

/** Without a query: what an operator looks for first. The form shows it, and an empty field takes it away. */
const RECENT_SECONDS = 3600;

export async function showLedger(asked: Asked, { originalUrl }: Request): Promise<Shown> {
  const { now } = asked;
  const recent = `/ledger?from=${encodeURIComponent(toShortText(plusSeconds(now, -RECENT_SECONDS)))}`;
  const url = originalUrl.includes('?') ? withoutEmpty(originalUrl, searchFields) : recent;
  const search = searchIn(url);
  const parsed = parseAuditQuestion(url, true);
  if (parsed.kind === 'invalid') return shown({ now, search, outcome: parsed });
  const answer = await asked.audit.query(parsed.question);
  if (answer.kind === 'foreign_cursor') {
    return shown({
      now,
      search,
      outcome: { kind: 'invalid', errors: [{ field: CURSOR, sentence: FOREIGN_CURSOR_SENTENCE }] },
    });
  }
  const { records, nextCursor, archivedBefore } = answer;
  const next = nextCursor && addressOf(url, nextCursor);
  const first = parsed.question.cursor && addressOf(url);
  return shown({ now, search, outcome: { kind: 'page', records, next, first, archivedBefore } });
}

function shown(view: LedgerView): Shown {
  const isInvalid = view.outcome.kind === 'invalid';
  return {
    ...(isInvalid ? { status: 400, reason: 'invalid_fields' } : {}),
    body: renderLedger(view),
    scripts: isInvalid ? [] : [assets.verify],
  };
}

/** What the form shows again. What cannot be decoded, it does not. */
function searchIn(url: string): LedgerView['search'] {
  const isField = (name: string | undefined): name is SearchField => searchFields.some((field) => field === name);
  return Object.fromEntries(
    queryParameters(url).flatMap(({ name, value }) => (isField(name) && value !== undefined ? [[name, value]] : [])),
  );
}

/** A page with the same parameters. */
function addressOf(url: string, cursor?: string): string {
  const known: readonly string[] = [...PARAMETERS, ...OPERATOR_PARAMETERS];
  const kept = queryParameters(url).flatMap(({ name, value }) =>
    name !== undefined && value !== undefined && name !== CURSOR && known.includes(name)
      ? [`${name}=${encodeURIComponent(value)}`]
      : [],
  );
  return `/ledger?${[...kept, ...(cursor === undefined ? [] : [`${CURSOR}=${cursor}`])].join('&')}`;
}
