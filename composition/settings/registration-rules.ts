import type { RegistrationRules } from '../../domain/agents/registration.ts';
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
    knowsMayActNames: settings['Service:UpstreamIdp:MayAct'] !== 'ignore',
  };
}
