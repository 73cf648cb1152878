/** What a task tells of the request that its person allowed at `/oauth2/authorize` (domain/authorization). */

import type { RequestId } from '../identifiers.ts';

/**
 * How the client was known, as records say it. `key`: it authenticates with a key of its registration. `public`: by its
 * `client_id` alone. `document`: by the document at its `client_id`, which says how it authenticates.
 */
export const clientLabels = ['key', 'public', 'document'] as const;
export type ClientLabel = (typeof clientLabels)[number];

export interface TaskAuthorization {
  readonly requestId: RequestId;
  readonly client: ClientLabel;
  /** Where the answer went. */
  readonly redirectUri: string;
  /**
   * Whether the client redeemed the code by its `client_id` alone, so that it cannot prove its name. Each refresh then
   * replaces the grant (grant.ts).
   */
  readonly isRotating: boolean;
}
