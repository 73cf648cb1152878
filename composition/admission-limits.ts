/** The limits of admission control, from the settings (specification "Rate limiting", "Overload"). */

import type { AdmissionControl } from '../adapters/http/admission/admission.ts';
import { workLimiters } from '../adapters/http/admission/concurrency.ts';
import type { RateLimitRules } from '../adapters/http/admission/rate-limit.ts';
import type { Settings } from './settings/read-settings.ts';
import type { SettingsSection } from './settings/settings.ts';

export function admissionLimits(settings: Settings): Pick<AdmissionControl, 'rates' | 'limiters'> {
  return {
    rates: settings['Service:RateLimit:Enabled'] ? rateLimitRules(settings) : undefined,
    limiters: settings['Service:Overload:Enabled']
      ? workLimiters({
          concurrency: settings['Service:Overload:ConcurrencyLimit'],
          queue: settings['Service:Overload:QueueLimit'],
          waitMs: settings['Service:Overload:QueueTimeout'] * 1000,
        })
      : undefined,
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
