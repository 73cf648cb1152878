/** Who is let in, as the settings have it (specification "Rate limiting", "Overload"). */

import type { DependencyContainer } from 'tsyringe';
import type { AdmissionControl } from '../adapters/http/admission/admission.ts';
import { workTurns } from '../adapters/http/admission/overload.ts';
import type { RateLimitRules } from '../adapters/http/admission/rate-limit.ts';
import { peerSource } from '../adapters/http/admission/request-source.ts';
import type { SourceConnections } from '../adapters/http/connection-counts.ts';
import type { SettingsSection } from './settings/settings.ts';
import { tokens } from './tokens.ts';

export function admissionControl(c: DependencyContainer): AdmissionControl {
  const settings = c.resolve(tokens.settings);
  return {
    rates: settings['Service:RateLimit:Enabled'] ? rateLimitRules(settings) : undefined,
    turns: settings['Service:Overload:Enabled']
      ? workTurns({
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

/**
 * Requests of one source come on far fewer connections than this, even those that may be a burst of thousands; and many
 * sources fit into what one process takes. A proxy of ours that no setting names is one source as well.
 */
const CONNECTIONS_OF_ONE_SOURCE = 1000;

/** As with rates: where nobody's is limited, whoever stands before this service knows its clients. */
export function sourceConnections(settings: SettingsSection<'Service:RateLimit'>): SourceConnections | undefined {
  if (!settings['Service:RateLimit:Enabled']) return undefined;
  const sourceOf = peerSource(settings['Service:RateLimit:TrustedProxies'] ?? []);
  return { most: CONNECTIONS_OF_ONE_SOURCE, sourceOf };
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
