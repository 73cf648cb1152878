/**
 * Where a request comes from, as rate limits count it (specification "Rate limiting"): the peer, unless that is a proxy
 * of ours, which says in `X-Forwarded-For` for whom it asks.
 *
 * Each proxy appends the address that it saw, so only what our own proxies wrote can be believed, and that stands at the
 * end: from there we go back as long as we are still among our proxies. What stands before is the client's invention.
 */

import type { IncomingMessage } from 'node:http';
import { type Address, contains, type Network, parseAddress } from './network.ts';

/** Longer chains of proxies of one's own are not built; what is looked at for one request has to end somewhere. */
const MAX_HOPS = 16;

/** All that is known of a peer that has left already: its answer reaches nobody. */
const GONE = 'gone';

const PLAIN_IPV4 = /^[\d.]+$/;

/** @param trusted the networks of our own proxies */
export function requestSource(
  trusted: readonly Network[],
): (request: Pick<IncomingMessage, 'socket' | 'headers'>) => string {
  const isTrusted = (address: Address) => trusted.some((network) => contains(network, address));
  return (request) => {
    const peer = request.socket.remoteAddress;
    if (peer === undefined) return GONE;
    // The system writes it in one way only, so it needs no reading.
    if (trusted.length === 0 && PLAIN_IPV4.test(peer)) return peer;
    const address = parseAddress(peer);
    if (address === undefined) return GONE;
    const forwarded = trusted.length === 0 ? undefined : request.headers['x-forwarded-for'];
    // Node has joined several headers of that name with commas, in their order.
    if (typeof forwarded !== 'string' || !isTrusted(address)) return nameOf(address);
    return nameOf(lastForeignHop(address, forwarded, isTrusted));
  };
}

/** The last hop that is no proxy of ours; the last good one, where what stands before it is no address. */
function lastForeignHop(peer: Address, forwarded: string, isTrusted: (address: Address) => boolean): Address {
  let hop = peer;
  let end = forwarded.length;
  for (let hops = 0; hops < MAX_HOPS && end >= 0; hops += 1) {
    const comma = end === 0 ? -1 : forwarded.lastIndexOf(',', end - 1);
    const before = parseAddress(withoutPort(forwarded.slice(comma + 1, end).trim()));
    if (before === undefined) return hop;
    hop = before;
    if (!isTrusted(hop)) return hop;
    end = comma;
  }
  return hop;
}

/** `192.0.2.1:80`, `[2001:db8::1]:80` and `[2001:db8::1]` as they are without. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}

/**
 * Whoever has an IPv6 address has a whole /64 of them, so that is one source. Put together anew: a piece cut out of the
 * header would keep all of it in memory for as long as the source is known.
 */
function nameOf(address: Address): string {
  if (address.kind() === 'ipv4') return address.toString();
  const bytes = address.toByteArray();
  return `${bytes.slice(0, 8).map(hex).join('')}/64`;
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}
