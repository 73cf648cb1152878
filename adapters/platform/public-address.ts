/**
 * Decides which addresses are public, by the IANA special-purpose address registries (RFC 6890) and IPv6's global unicast
 * space (RFC 4291 §2.4). An embedded IPv4 address decides for the address that embeds it.
 */

import type { LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import { BlockList, isIP } from 'node:net';
import { NetworkFailure } from '../../application/ports/network.ts';

/** IPv4 networks that are no destination on the internet: private, local, reserved or for documentation. */
const PRIVATE_IPV4 = [
  ['0.0.0.0', 8], // This host (RFC 1122 §3.2.1.3): Linux connects 0.0.0.0 to loopback.
  ['10.0.0.0', 8], // Private (RFC 1918)
  ['100.64.0.0', 10], // Carrier-grade NAT (RFC 6598); Alibaba Cloud's metadata is at 100.100.100.200.
  ['127.0.0.0', 8], // Loopback
  ['168.63.129.16', 32], // Azure's platform address, although it looks public.
  ['169.254.0.0', 16], // Link-local (RFC 3927), and cloud metadata at 169.254.169.254.
  ['172.16.0.0', 12], // Private (RFC 1918)
  ['192.0.0.0', 24], // IETF protocol assignments (RFC 6890); Oracle Cloud's metadata is at 192.0.0.192.
  ['192.0.2.0', 24], // Documentation (RFC 5737)
  ['192.31.196.0', 24], // AS112 (RFC 7535)
  ['192.52.193.0', 24], // AMT relays (RFC 7450)
  ['192.88.99.0', 24], // 6to4 relays, deprecated (RFC 7526)
  ['192.168.0.0', 16], // Private (RFC 1918)
  ['192.175.48.0', 24], // AS112 (RFC 7534)
  ['198.18.0.0', 15], // Benchmarking (RFC 2544)
  ['198.51.100.0', 24], // Documentation (RFC 5737)
  ['203.0.113.0', 24], // Documentation (RFC 5737)
  ['224.0.0.0', 4], // Multicast
  ['240.0.0.0', 4], // Reserved, and broadcast
] as const;

/** Such networks within the global unicast space of IPv6. */
const PRIVATE_IPV6 = [
  ['2001::', 23], // IETF protocol assignments (RFC 2928), Teredo among them
  ['2001:db8::', 32], // Documentation (RFC 3849)
  ['2620:4f:8000::', 48], // AS112 (RFC 7534)
  ['3fff::', 20], // Documentation (RFC 9637)
] as const;

/** The IPv6 networks that can be public. All others are not: loopback, link-local, unique-local and so on. */
const REACHABLE_IPV6 = [
  ['2000::', 3], // Global unicast (RFC 4291 §2.4)
  ['64:ff9b::', 96], // NAT64 (RFC 6052 §2.1)
  ['::ffff:0:0', 96], // IPv4-mapped (RFC 4291 §2.5.5.2)
] as const;

/** The number of bits before the embedded IPv4 address. */
const NAT64_PREFIX = 96;
const SIX_TO_FOUR_PREFIX = 16;

const reachable = new BlockList();
for (const [network, prefix] of REACHABLE_IPV6) reachable.addSubnet(network, prefix, 'ipv6');

// A BlockList applies its IPv4 rules to an IPv4-mapped address.
const special = new BlockList();
for (const [network, prefix] of PRIVATE_IPV6) special.addSubnet(network, prefix, 'ipv6');
for (const [network, prefix] of PRIVATE_IPV4) {
  special.addSubnet(network, prefix, 'ipv4');
  special.addSubnet(`64:ff9b::${network}`, NAT64_PREFIX + prefix, 'ipv6');
  // The form of 6to4 addresses (RFC 3056 §2).
  special.addSubnet(`2002:${asGroups(network)}::`, SIX_TO_FOUR_PREFIX + prefix, 'ipv6');
}

/** @param address as a resolver or a URL writes it, but without brackets. Other text is not public */
export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 4) return !special.check(address, 'ipv4');
  return version === 6 && reachable.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** Converts `127.0.0.1` to `7f00:1`. */
function asGroups(ipv4: string): string {
  const [a = 0, b = 0, c = 0, d = 0] = ipv4.split('.').map(Number);
  return [a * 256 + b, c * 256 + d].map((group) => group.toString(16)).join(':');
}

/** Resolves a host to all its addresses, as `dns.lookup` does with `all`. */
export type Resolve = (hostname: string, options: { readonly all: true }) => Promise<readonly LookupAddress[]>;

export const NOT_PUBLIC = 'The host has an address that is not public.';

/**
 * A `lookup` for sockets that connects to public hosts only. The socket uses the addresses that were checked. The host is
 * not resolved twice, so it cannot change its answer in between (DNS rebinding). A host with one address that is not
 * public is refused, because a resolver may return its addresses in any order.
 */
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
