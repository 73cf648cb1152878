import type { RegistrationRules } from '../../domain/agents/registration.ts';
import { AUTHORIZE_FIELDS, DELEGATION_FIELDS, MAY_ACT_FIELDS } from '../../domain/agents/registration-draft.ts';
import type { Settings } from './settings.ts';

export function registrationRules(settings: Settings): RegistrationRules {
  return {
    lifetimes: {
      defaultTaskTtl: settings['Service:Tokens:DefaultTaskTtl'],
      defaultTokenTtl: settings['Service:Tokens:DefaultTokenTtl'],
      minTaskTtl: settings['Service:Agents:MinTaskTtl'],
      maxTaskTtl: settings['Service:Agents:MaxTaskTtl'],
      minTokenTtl: settings['Service:Agents:MinTokenTtl'],
      maxTokenTtl: settings['Service:Agents:MaxTokenTtl'],
    },
    issuer: settings['Service:Issuer'],
    knows: new Set([
      ...(settings['Service:UpstreamIdp:MayAct'] === 'ignore' ? [] : MAY_ACT_FIELDS),
      ...(settings['Service:Authorize:ClientId'] === undefined ? [] : AUTHORIZE_FIELDS),
      ...(settings['Service:Delegation:Enabled'] ? DELEGATION_FIELDS : []),
    ]),
  };
}
