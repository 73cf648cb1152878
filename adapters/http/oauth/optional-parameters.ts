/** What a token request may do beyond the specification, each by its own setting. Off, nothing differs. */

import type { PurposeMode } from '../../../domain/tasks/purpose.ts';
import { PURPOSE } from './purpose-parameter.ts';

export interface OptionalParameters {
  /** `Service:Exchange:ClientIsActor`: at an exchange, a `client_assertion` without an `actor_token` is the agent's. */
  readonly clientIsActor: boolean;
  /** `Service:Exchange:AudienceParameter`: `audience` can name the resource. */
  readonly audienceParameter: boolean;
  /** `Service:Tasks:Purpose`: whether an exchange can or must have a `purpose`. */
  readonly purpose: PurposeMode;
}

/** The parameters that the settings add. Without them, a refusal does not name these. */
export function addedParameters({ audienceParameter, purpose }: OptionalParameters): ReadonlySet<string> {
  return new Set([...(audienceParameter ? ['audience'] : []), ...(purpose === 'off' ? [] : [PURPOSE])]);
}
