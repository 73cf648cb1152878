/**
 * A `lookup` for sockets that connects to public hosts only. The socket connects to the checked addresses. The resolver
 * is not asked a second time, so a host cannot change its answer (DNS rebinding).
 */

import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { NetworkFailure } from '../../application/ports/network.ts';

/** All addresses of a host, as `dns.lookup` answers with `all`. */
export type Resolve = (hostname: string, options: { readonly all: true }) => Promise<readonly LookupAddress[]>;

export const NOT_PUBLIC = 'The host has an address that is not public.';

/** One address that is not public refuses the whole host: a resolver may order the addresses in any way. */
export function publicLookup(resolve: Resolve, isPublic: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }).then(
      (addresses) => {
        const [first] = addresses;
        if (first === undefined || !addresses.every(({ address }) => isPublic(address))) {
          callback(new NetworkFailure(NOT_PUBLIC), []);
        } else if (options.all === true) callback(null, [...addresses]);
        else callback(null, first.address, first.family);
      },
      (cause: NodeJS.ErrnoException) => callback(cause, []),
    );
  };
}
