/**
 * The source of a request, for rate limits (specification "Rate limiting"): the peer's address or, behind trusted proxies,
 * an address from `X-Forwarded-For`.
 *
 * Each proxy appends the address of its peer. So the header is read from its end, as long as the addresses are trusted
 * proxies. Everything before that may be invented by the client.
 */

import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { trimOws } from '../../../domain/trim-ows.ts';

/** Limits the work for one request. Real chains of proxies are shorter. */
const MAX_HOPS = 16;

/** All peers that have already disconnected share this source. */
const GONE = 'gone';

const PLAIN_IPV4 = /^[\d.]+$/;

/** @param trusted the networks of the operator's proxies */
export function requestSource(
  trusted: readonly Network[],
): (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string {
  const isTrusted = (address: Address) => trusted.some((network) => contains(network, address));
  return (request) => {
    const peer = request.socket.remoteAddress;
    if (peer === undefined) return GONE;
    // The operating system writes an IPv4 address in one form only, so it need not be parsed.
    if (trusted.length === 0 && PLAIN_IPV4.test(peer)) return peer;
    const address = parseAddress(peer);
    if (address === undefined) return GONE;
    const forwarded = trusted.length === 0 ? undefined : request.headers['x-forwarded-for'];
    // Node joins repeated headers of this name with commas, in their order.
    if (typeof forwarded !== 'string' || !isTrusted(address)) return nameOf(address);
    return nameOf(lastForeignHop(address, forwarded, isTrusted));
  };
}

/** The last address that is not a trusted proxy. An entry that is no address ends the search at the address after it. */
function lastForeignHop(peer: Address, forwarded: string, isTrusted: (address: Address) => boolean): Address {
  let hop = peer;
  let end = forwarded.length;
  for (let hops = 0; hops < MAX_HOPS && end >= 0; hops += 1) {
    const comma = end === 0 ? -1 : forwarded.lastIndexOf(',', end - 1);
    const before = parseAddress(withoutPort(trimOws(forwarded.slice(comma + 1, end))));
    if (before === undefined) return hop;
    hop = before;
    if (!isTrusted(hop)) return hop;
    end = comma;
  }
  return hop;
}

/** Removes brackets and port from `192.0.2.1:80`, `[2001:db8::1]:80` and `[2001:db8::1]`. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

/**
 * All addresses of an IPv6 /64 are one source, because one client usually has all of them. Builds a new string, because a
 * slice of the header would keep the whole header in memory.
 */
function nameOf(address: Address): string {
  if (address.kind() === 'ipv4') return address.toString();
  const bytes = address.toByteArray();
  return `${bytes.slice(0, 8).map(hex).join('')}/64`;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

/** A parsed address. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`) becomes IPv4. */
type Address = ipaddr.IPv4 | ipaddr.IPv6;

/** The addresses that begin with the first `prefix` bits of `address`. */
export interface Network {
  readonly address: Address;
  readonly prefix: number;
}

/** In an IPv4-mapped address these bits precede the IPv4 address. */
const MAPPED_PREFIX = 96;

/** IPv4-compatible addresses are deprecated (RFC 4291 §2.5.5.1). The library would read them as IPv4-mapped ones. */
const IPV4_COMPATIBLE = /^::\d+\./;

/** Accepts only the usual notation. The library also accepts `1`, `0x7f.1` and octal digits as IPv4. */
export function parseAddress(text: string): Address | undefined {
  if (ipaddr.IPv4.isValidFourPartDecimal(text)) return ipaddr.IPv4.parse(text);
  if (!text.includes(':') || IPV4_COMPATIBLE.test(text) || !ipaddr.IPv6.isValid(text)) return undefined;
  const address = ipaddr.IPv6.parse(text);
  return address.isIPv4MappedAddress() ? address.toIPv4Address() : address;
}

export type NetworkFault = 'malformed' | 'beyond_prefix' | 'everything';

/** Parses CIDR notation (RFC 4632 §3.1, RFC 4291 §2.3). Refuses a network of all addresses. */
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
