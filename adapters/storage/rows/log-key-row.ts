/** Converts between keys of the transparency log and rows of the `log_keys` table. */

import type { LogKey } from '../../../domain/log/log-key.ts';
import type { RowOf, tables } from '../tables.ts';
import { type ReadRow, storable } from './column.ts';

export interface LogKeyRow extends ReadRow<typeof tables.log_keys> {
  readonly use: LogKey['use'];
}

export function toLogKey({ use, kid, thumbprint, public_key, active_from, active_to }: LogKeyRow): LogKey {
  return { use, kid, thumbprint, publicKey: public_key, from: active_from, to: active_to ?? undefined };
}

export function logKeyRow(key: LogKey): RowOf<typeof tables.log_keys> {
  return {
    use: key.use,
    kid: storable('kid', key.kid),
    thumbprint: key.thumbprint,
    public_key: storable('public_key', key.publicKey),
    active_from: key.from,
    active_to: key.to ?? null,
  };
}
