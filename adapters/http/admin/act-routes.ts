/** `GET /admin/acts`: who changed what, and why. The path exists only with `Service:Operators`. */

import type { Request, Response } from 'express';
import type { ActsAnswer, ActsRequest } from '../../../application/admin/list-acts.ts';
import { toMillisecondText } from '../../../domain/instant.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import type { ShownAct } from '../../../domain/operators/operator-act.ts';
import { answerInvalid } from '../message/problem-details.ts';
import {
  answerForeignCursor,
  CURSOR,
  parseOrdinal,
  parseSubject,
  readPage,
  readQuery,
  SUBJECT_SENTENCE,
} from '../message/query.ts';

export interface ActsSurface {
  listActs(question: ActsRequest): Promise<ActsAnswer>;
}

export async function listActs(surface: ActsSurface, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['seq', 'sub', 'limit', CURSOR]);
  const seq = query.read('seq', parseOrdinal, 'Must be the number of a record.');
  const subject = query.read('sub', parseSubject, SUBJECT_SENTENCE);
  const page = readPage(query, parseCursor);
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const answer = await surface.listActs({ seq, subject, ...page });
  if (answer.kind === 'foreign_cursor') return answerForeignCursor(response);
  response.json({ acts: answer.acts.map(presentAct), next_cursor: answer.nextCursor ?? null });
}

function presentAct({ explains, reason, salt, at, difference, ...act }: ShownAct): Record<string, unknown> {
  const { seq, ...who } = act;
  return {
    seq,
    explains: explains ?? null,
    ...who,
    reason: reason ?? null,
    salt: salt ?? null,
    at: toMillisecondText(at),
    // Only where the row is not as the ledger has it, or its record has been archived.
    ...(difference && { difference: difference.how }),
  };
}
