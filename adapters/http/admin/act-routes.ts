/** `GET /admin/acts`: who changed what, and why. Only with `Service:Operators`. */

import type { Request, Response } from 'express';
import type { ActsAnswer, ActsRequest } from '../../../application/admin/list-acts.ts';
import { fieldErrors } from '../../../domain/field-error.ts';
import { toMillisecondText } from '../../../domain/instant.ts';
import { parseCursor } from '../../../domain/ledger/page-cursor.ts';
import type { StoredAct } from '../../../domain/operators/operator-act.ts';
import { answerInvalid } from '../message/problem-details.ts';
import { DEFAULT_PAGE, PAGE_SIZE_SENTENCE, parseOrdinal, parsePageSize, readQuery } from './requests.ts';

export interface ActsSurface {
  listActs(question: ActsRequest): Promise<ActsAnswer>;
}

const CURSOR = 'cursor';
const MAX_SUBJECT_LENGTH = 256;
const CONTROL = /\p{Cc}/u;

export async function listActs(surface: ActsSurface, request: Request, response: Response): Promise<void> {
  const query = readQuery(request.originalUrl, ['seq', 'sub', 'limit', CURSOR]);
  const seq = query.read('seq', parseOrdinal, 'Must be the number of a record.');
  const subject = query.read('sub', parseSubject, `Must be 1 to ${MAX_SUBJECT_LENGTH} characters.`);
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  const cursor = query.read(CURSOR, parseCursor, 'Must be the next_cursor of a page.');
  if (query.errors.length > 0) return answerInvalid(response, query.errors);
  const answer = await surface.listActs({ seq, subject, limit, cursor });
  if (answer.kind === 'foreign_cursor') {
    const sentence = 'Belongs to a page with other filters: send the filters of that page with it.';
    return answerInvalid(response, fieldErrors(CURSOR, sentence));
  }
  response.json({ acts: answer.acts.map(presentAct), next_cursor: answer.nextCursor ?? null });
}

function parseSubject(text: string): string | undefined {
  return text.length >= 1 && text.length <= MAX_SUBJECT_LENGTH && !CONTROL.test(text) ? text : undefined;
}

function presentAct({ explains, reason, salt, at, ...act }: StoredAct): Record<string, unknown> {
  const { seq, ...who } = act;
  return {
    ...{ seq, explains: explains ?? null, ...who },
    ...{ reason: reason ?? null, salt: salt ?? null, at: toMillisecondText(at) },
  };
}
