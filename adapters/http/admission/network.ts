/** Addresses and networks of either protocol, IPv4 in IPv6's clothes (`::ffff:192.0.2.1`) taken for what it is. */

import ipaddr from 'ipaddr.js';

export type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The addresses that begin with the first `prefix` bits of `address`. */
export interface Network {
  readonly address: Address;
  readonly prefix: number;
}

/** As bits before the IPv4 address in an IPv6 one that maps it. */
const MAPPED_PREFIX = 96;

/** Nobody has such an address (RFC 4291 §2.5.5.1), and the library takes it for a mapped one. */
const IPV4_COMPATIBLE = /^::\d+\./;

/** Only as addresses are written: the library also takes `1`, `0x7f.1` and octal digits for IPv4. */
export function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || IPV4_COMPATIBLE.test(text) || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

export type NetworkFault = 'malformed' | 'beyond_prefix' | 'everything';

/** CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3); a network that is everybody is refused. */
export function parseNetwork(text: string): Network | NetworkFault {
  const [, host = '', digits = ''] = /^([^/]+)\/(0|[1-9]\d{0,2})$/.exec(text) ?? [];
  const address = parseAddress(host);
  if (address === undefined || host.includes('%')) return 'malformed';
  const isMapped = host.includes(':') && address.kind() === 'ipv4';
  const prefix = Number(digits) - (isMapped ? MAPPED_PREFIX : 0);
  if (prefix < 0 || prefix > address.toByteArray().length * 8) return 'malformed';
  if (prefix === 0) return 'everything';
  return hasBitsBeyond(address, prefix) ? 'beyond_prefix' : { address, prefix };
}

export function contains({ address, prefix }: Network, candidate: Address): boolean {
  return candidate.kind() === address.kind() && candidate.match(address, prefix);
}

function hasBitsBeyond(address: Address, prefix: number): boolean {
  return address.toByteArray().some((byte, at) => (byte & (0xff >> Math.min(8, Math.max(0, prefix - at * 8)))) !== 0);
}
