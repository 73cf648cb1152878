/** What a token request may do beyond the specification, by the settings. A request at `/oauth2/authorize` reads the same. */

import type { OptionalParameters } from '../../adapters/http/oauth/optional-parameters.ts';
import type { Settings } from './settings.ts';

export function optionalParameters(settings: Settings): OptionalParameters {
  return {
    clientIsActor: settings['Service:Exchange:ClientIsActor'],
    audienceParameter: settings['Service:Exchange:AudienceParameter'],
    purpose: settings['Service:Tasks:Purpose'],
    authorizationCode: settings['Service:Authorize:ClientId'] !== undefined,
    delegation: settings['Service:Delegation:Enabled'],
  };
}
