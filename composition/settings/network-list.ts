/** Several networks in one setting, the only list in a single text (specification "Configuration rules"). */

import { type Network, type NetworkFault, parseNetwork } from '../../adapters/http/admission/network.ts';
import type { ValueType } from './value-type.ts';

/** A request whose peer is a proxy may be held against each of them. */
const MAX_NETWORKS = 100;

const FAULTS: Readonly<Record<NetworkFault, string>> = {
  malformed: 'is no network in CIDR notation',
  beyond_prefix: 'has bits set beyond its prefix',
  everything: 'is everybody, who must not all be trusted',
};

/** What is wrong is named by its place in the list, never by what it says. */
export function networkList(): ValueType<readonly Network[]> {
  return {
    accepts: `at most ${MAX_NETWORKS} networks in CIDR notation (\`192.0.2.0/24\`, \`2001:db8::/32\`), separated by commas`,
    secret: false,
    read(given) {
      const items = given.split(',');
      if (items.length > MAX_NETWORKS) return { kind: 'wrong', problem: `names more than ${MAX_NETWORKS} networks` };
      const networks: Network[] = [];
      for (const [at, item] of items.entries()) {
        const network = parseNetwork(item.trim());
        if (typeof network === 'string')
          return { kind: 'wrong', problem: `is wrong at ${at + 1}: it ${FAULTS[network]}` };
        networks.push(network);
      }
      return { kind: 'read', value: networks };
    },
  };
}
