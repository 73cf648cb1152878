/**
 * The entries of NO_PROXY that `proxy-from-env` does not know: ranges of addresses. It compares `10.0.0.0/8` as a host
 * name, so such an entry would silently match nothing.
 */

import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import { NetworkFailure } from '../../application/ports/network.ts';

/** An entry that `proxy-from-env` matches: `*`, a host (captured) or the end of hosts, each with or without a port (captured). */
const KNOWN = /^(?:\*|\*?\.?([\w-]+(?:\.[\w-]+)*|\[[\da-f:.]+\]))(?::(\d{1,5}))?$/i;
const MAX_PORT = 65_535;
const SUBNET = /^([\da-f:.]+)\/(\d{1,3})$/i;
/** `192.168.*`, also with a star for each further part. */
const STARRED = /^((?:\d{1,3}\.){1,3})\*(?:\.\*)*$/;

/**
 * Whether NO_PROXY has a range, or an IPv6 address without brackets, that includes the host. Only a host that is written
 * as an address is compared: a name is not resolved.
 *
 * @param noProxy the value of the variable
 * @throws NetworkFailure for an entry that could match no host
 */
export function isInNoProxyRange({ hostname }: URL, noProxy: string): boolean {
  const ranges = new BlockList();
  const entries = noProxy.split(/[,\s]+/).filter((entry) => entry !== '');
  for (const [index, entry] of entries.entries()) {
    const range = rangeOf(entry);
    if (range !== undefined) ranges.addSubnet(...range);
    else if (!isKnown(entry)) {
      throw new NetworkFailure(
        `Entry ${index + 1} of NO_PROXY can match no host: write a host, .domain, an address, or a range such as 10.0.0.0/8 or 192.168.*.`,
      );
    }
  }
  const host = hostname.replace(/^\[|\]$/g, '');
  return isIP(host) !== 0 && ranges.check(host, familyOf(host));
}

type Range = readonly [address: string, prefix: number, family: 'ipv4' | 'ipv6'];

function rangeOf(entry: string): Range | undefined {
  // The host of a URL has no zone (RFC 3986 §3.2.2).
  if (isIPv6(entry) && !entry.includes('%')) return [entry, 128, 'ipv6'];
  const [, subnet = '', size = ''] = SUBNET.exec(entry) ?? [];
  if (isIP(subnet) !== 0) {
    const prefix = Number(size);
    return prefix <= (isIPv4(subnet) ? 32 : 128) ? [subnet, prefix, familyOf(subnet)] : undefined;
  }
  const parts = STARRED.exec(entry)?.[1]?.split('.').slice(0, -1) ?? [];
  const first = [...parts, '0', '0', '0'].slice(0, 4).join('.');
  return parts.length > 0 && isIPv4(first) ? [first, parts.length * 8, 'ipv4'] : undefined;
}

function familyOf(address: string): 'ipv4' | 'ipv6' {
  return isIPv4(address) ? 'ipv4' : 'ipv6';
}

/** The host is compared as text, so it must have the form that a URL gives it. */
function isKnown(entry: string): boolean {
  const found = KNOWN.exec(entry);
  if (found === null || Number(found[2] ?? 0) > MAX_PORT) return false;
  const host = found[1]?.toLowerCase();
  if (host === undefined) return true;
  return URL.canParse(`https://${host}`) && new URL(`https://${host}`).hostname === host;
}
