import type { LifetimeRules } from '../../domain/agents/lifetimes.ts';
import type { Settings } from './settings.ts';

export function lifetimeRules(settings: Settings): LifetimeRules {
  return {
    defaultTaskTtl: settings['Service:Tokens:DefaultTaskTtl'],
    defaultTokenTtl: settings['Service:Tokens:DefaultTokenTtl'],
    minTaskTtl: settings['Service:Agents:MinTaskTtl'],
    maxTaskTtl: settings['Service:Agents:MaxTaskTtl'],
    minTokenTtl: settings['Service:Agents:MinTokenTtl'],
    maxTokenTtl: settings['Service:Agents:MaxTokenTtl'],
  };
}
