/** The headers that tell the upstream who acts for whom. The guard sets all four, also the empty ones. */

import { formatScope } from '../../../../domain/scope.ts';
import type { TaskTokenClaims } from '../core/claims.ts';

export type IdentityHeaders = Readonly<
  Record<'Mandate-Subject' | 'Mandate-Agent' | 'Mandate-Task' | 'Mandate-Scope', string>
>;

/** A header that is absent could be one that a client sent: an empty one replaces it. */
export function identityHeaders({ sub, act, task, scope }: TaskTokenClaims): IdentityHeaders {
  return {
    'Mandate-Subject': encoded(sub),
    'Mandate-Agent': encoded(act?.sub ?? ''),
    'Mandate-Task': encoded(task?.id ?? ''),
    'Mandate-Scope': encoded(formatScope(scope)),
  };
}

/**
 * Percent-encodes all but printable ASCII, so that any decoder of URLs restores the text. A percent sign is encoded too. So
 * is a space at either end, which HTTP drops (RFC 9110 §5.5).
 */
function encoded(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^ -$&-~]+|^ +| +$/gu, (part) =>
      /^ +$/.test(part) ? '%20'.repeat(part.length) : encodeURIComponent(part),
    );
}
