/** A log that keeps the last problem that it was told of: what the service itself would say of what it tries. */

import type { Log } from '../ports/log.ts';

export interface HeardLog extends Log {
  /** The sentence in the field `problem`, as the adapters of the identity provider and of key sets write it. */
  problem(): string | undefined;
}

export function heardLog(): HeardLog {
  let last: string | undefined;
  return {
    info: () => undefined,
    warn(_message, fields) {
      if (typeof fields?.problem === 'string') last = fields.problem;
    },
    error: () => undefined,
    problem: () => last,
  };
}
