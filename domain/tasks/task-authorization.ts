/** What a task tells of the request that its person allowed at `/oauth2/authorize` (domain/authorization). */

import type { RequestId } from '../identifiers.ts';

/**
 * How the client was known when the person answered, as records say it. `public`: its `client_id` alone redeems a code, so it
 * cannot prove its name. Otherwise it needs a key: `key`, one of its registration; `document`, one of its metadata document.
 */
export const clientLabels = ['key', 'public', 'document'] as const;
export type ClientLabel = (typeof clientLabels)[number];

export interface TaskAuthorization {
  readonly requestId: RequestId;
  readonly client: ClientLabel;
  /** Where the answer went. */
  readonly redirectUri: string;
  /**
   * Whether the client redeemed the code by its `client_id` alone. Each refresh then replaces the grant (grant.ts).
   */
  readonly isRotating: boolean;
}

/** Whether the client needed a key when the person answered, and redeemed the code with it. */
export function provesName({ client, isRotating }: Pick<TaskAuthorization, 'client' | 'isRotating'>): boolean {
  return client !== 'public' && !isRotating;
}
