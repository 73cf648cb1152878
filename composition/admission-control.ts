/** Who is let in, as the settings have it (specification "Rate limiting", "Overload"). */

import type { DependencyContainer } from 'tsyringe';
import type { AdmissionControl } from '../adapters/http/admission/admission.ts';
import { workLimiters } from '../adapters/http/admission/concurrency.ts';
import type { RateLimitRules } from '../adapters/http/admission/rate-limit.ts';
import type { SettingsSection } from './settings/settings.ts';
import { tokens } from './tokens.ts';

export function admissionControl(c: DependencyContainer): AdmissionControl {
  const settings = c.resolve(tokens.settings);
  return {
    rates: settings['Service:RateLimit:Enabled'] ? rateLimitRules(settings) : undefined,
    limiters: settings['Service:Overload:Enabled']
      ? workLimiters({
          concurrency: settings['Service:Overload:ConcurrencyLimit'],
          queue: settings['Service:Overload:QueueLimit'],
          waitMs: settings['Service:Overload:QueueTimeout'] * 1000,
        })
      : undefined,
    denials: c.resolve(tokens.anonymousDenials),
    clock: c.resolve(tokens.clock),
    log: c.resolve(tokens.log),
    notAdmitted: c.resolve(tokens.measurementsOption).measurements?.notAdmitted,
  };
}

function rateLimitRules(settings: SettingsSection<'Service:RateLimit'>): RateLimitRules {
  return {
    main: {
      permitsPerMinute: settings['Service:RateLimit:PermitsPerMinute'],
      burst: settings['Service:RateLimit:Burst'],
    },
    introspection: {
      permitsPerMinute: settings['Service:RateLimit:Introspection:PermitsPerMinute'],
      burst: settings['Service:RateLimit:Introspection:Burst'],
    },
    signals: {
      permitsPerMinute: settings['Service:RateLimit:Signals:PermitsPerMinute'],
      burst: settings['Service:RateLimit:Signals:Burst'],
    },
    trustedProxies: settings['Service:RateLimit:TrustedProxies'] ?? [],
  };
}
