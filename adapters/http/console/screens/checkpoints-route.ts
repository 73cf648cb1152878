/** Reads what the screen *Checkpoints* shows. Its parameters are those of `GET /audit/checkpoints`. */

import type { Request } from 'express';
import { DEFAULT_PAGE, PAGE_SIZE_SENTENCE, parseOrdinal, parsePageSize, readQuery } from '../../message/query.ts';
import type { Asked, Shown } from '../asked.ts';
import { assets } from '../layout.ts';
import { renderCheckpoints } from './checkpoints.ts';

export async function showCheckpoints({ audit, now }: Asked, { originalUrl }: Request): Promise<Shown> {
  const query = readQuery(originalUrl, ['after', 'limit']);
  const after = query.read('after', parseOrdinal, 'Must be a checkpoint_id.') ?? 0;
  const limit = query.read('limit', parsePageSize, PAGE_SIZE_SENTENCE) ?? DEFAULT_PAGE;
  if (query.errors.length > 0) {
    const body = renderCheckpoints({ now, outcome: { kind: 'invalid', errors: query.errors } });
    return { status: 400, reason: 'invalid_fields', body };
  }
  const page = await audit.checkpoints({ after, limit });
  return { body: renderCheckpoints({ now, outcome: { kind: 'page', after, ...page } }), scripts: [assets.verify] };
}
