/** Where the keys of agents may be fetched from (`Service:AgentKeys:BlockPrivateNetworks`). */

import { type Examination, ok, warning } from './finding.ts';

export function agentKeysExamination(blockPrivateNetworks: boolean): Examination {
  return {
    check: 'agent keys',
    examine: async () =>
      blockPrivateNetworks
        ? ok('Each jwks_uri is fetched from public addresses only.')
        : warning(
            'A jwks_uri may lead to loopback, private, link-local and cloud metadata addresses.',
            'Set Service:AgentKeys:BlockPrivateNetworks to true, or keep the service from such addresses with a firewall.',
          ),
  };
}
