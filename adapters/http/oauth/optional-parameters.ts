/** The parameters of the token endpoint that settings add. */

import type { PurposeMode } from '../../../domain/tasks/purpose.ts';

export interface OptionalParameters {
  /** `Service:Tasks:Purpose`. */
  readonly purpose: PurposeMode;
}
