/** `/audit` (specification "Admin API", GET /audit). Mount it there. */

import express, { type Request, type Response, type Router } from 'express';
import type { LedgerAnswer, LedgerQuestion } from '../../../application/ledger/query.ts';
import type { Log } from '../../../application/ports/log.ts';
import { fieldErrors } from '../../../domain/field-error.ts';
import { toShortText } from '../../../domain/instant.ts';
import { presentRecord } from '../../../domain/ledger/record.ts';
import { answerInvalid } from '../problem-details.ts';
import { answerFaults, methodNotAllowed, unknownPath } from '../problem-faults.ts';
import { type AdminAccess, requireAdminKey } from './admin-key.ts';
import { CURSOR, parseAuditQuestion } from './audit-question.ts';

export interface AuditSurface extends AdminAccess {
  query(question: LedgerQuestion): Promise<LedgerAnswer>;
  readonly log: Log;
}

export function auditRouter(surface: AuditSurface): Router {
  const router = express.Router({ caseSensitive: true, strict: true });
  router.use(requireAdminKey(surface));
  router
    .route('/')
    .get((request, response) => page(surface, request, response))
    .all(methodNotAllowed('GET, HEAD'));
  router.use(unknownPath);
  router.use(answerFaults(surface.log));
  return router;
}

async function page(surface: AuditSurface, request: Request, response: Response): Promise<void> {
  const parsed = parseAuditQuestion(request.originalUrl);
  if (parsed.kind === 'invalid') return answerInvalid(response, parsed.errors);
  const answer = await surface.query(parsed.question);
  if (answer.kind === 'foreign_cursor') {
    const sentence = 'Belongs to a page with other filters: send the filters of that page with it.';
    return answerInvalid(response, fieldErrors(CURSOR, sentence));
  }
  response.json({
    records: answer.records.map(presentRecord),
    next_cursor: answer.nextCursor ?? null,
    archived_before: answer.archivedBefore === undefined ? null : toShortText(answer.archivedBefore),
  });
}
