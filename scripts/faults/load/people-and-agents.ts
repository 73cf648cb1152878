/** Who asks, and for whom: agents with keys of their own, people, the provider that signs for them, the transmitter. */

import { randomUUID } from 'node:crypto';
import { type AgentKey, makeAgentKey } from '../../../test/support/agents/agent-key.ts';
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../../test/support/identity-provider/identity-provider.ts';
import { startTransmitter, type Transmitter } from '../../../test/support/transmitter.ts';

export interface LoadAgent {
  readonly id: string;
  readonly key: AgentKey;
}

export interface Cast {
  readonly provider: IdentityProvider;
  readonly transmitter: Transmitter;
  readonly agents: readonly LoadAgent[];
  /** What the service is told of them, by the settings' keys. */
  readonly settings: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

export const AUDIENCE = 'https://jira.example/api';
export const SCOPE = 'jira:read jira:comment';

const AGENTS = 6;

export async function assembleCast(): Promise<Cast> {
  const provider = await startIdentityProvider({ algorithm: 'ES256' });
  const transmitter = await startTransmitter();
  const agents = await Promise.all(Array.from({ length: AGENTS }, aLoadAgent));
  return {
    provider,
    transmitter,
    agents,
    settings: {
      ...transmitter.settings,
      'Service:UpstreamIdp:Issuer': provider.issuer,
      'Service:UpstreamIdp:Audience': provider.audience,
      'Service:UpstreamIdp:SponsorCheck:Mode': 'signals',
      'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
    },
    async stop() {
      await Promise.all([provider.stop(), transmitter.stop()]);
    },
  };
}

export async function aLoadAgent(): Promise<LoadAgent> {
  return { id: `load-agent-${randomUUID()}`, key: await makeAgentKey('ES256') };
}

export function registrationOf({ id, key }: LoadAgent): object {
  return {
    agent_id: id,
    display_name: 'Load beside a fault',
    sponsor_required: true,
    allowed_scopes: SCOPE.split(' '),
    allowed_audiences: [AUDIENCE],
    max_task_ttl: 'PT4H',
    max_token_ttl: 'PT1H',
    max_delegation_depth: 1,
    jwks: key.jwks,
  };
}
