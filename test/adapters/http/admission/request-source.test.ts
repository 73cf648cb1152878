import type { IncomingMessage } from 'node:http';
import { expect } from 'chai';
import { parseNetwork, requestSource } from '../../../../adapters/http/admission/request-source.ts';

const PROXIES = ['10.0.0.0/8', '2001:db8:aaaa::/48'];

const networks = (texts: readonly string[]) =>
  texts.map((text) => {
    const network = parseNetwork(text);
    if (typeof network === 'string') throw new Error(`${text} is ${network}`);
    return network;
  });

/** The source of a request from `peer` with this X-Forwarded-For header. */
function sourceOf(peer: string | undefined, forwarded?: string, trusted: readonly string[] = PROXIES): string {
  const request = { socket: { remoteAddress: peer }, headers: { 'x-forwarded-for': forwarded } };
  return requestSource(networks(trusted))(request as unknown as IncomingMessage);
}

describe('The source of a request', () => {
  it('is the peer unless the peer is a trusted proxy', () => {
    expect(sourceOf('192.0.2.1')).to.equal('192.0.2.1');
    expect(sourceOf('192.0.2.1', '198.51.100.7')).to.equal('192.0.2.1');
    expect(sourceOf('10.0.0.1', '198.51.100.7', [])).to.equal('10.0.0.1');
    expect(sourceOf('11.0.0.1', '198.51.100.7')).to.equal('11.0.0.1');
  });

  it('is the hop in front of a trusted proxy', () => {
    expect(sourceOf('10.0.0.1', '198.51.100.7')).to.equal('198.51.100.7');
    expect(sourceOf('::ffff:10.0.0.1', '198.51.100.7')).to.equal('198.51.100.7');
    expect(sourceOf('2001:db8:aaaa::1', '198.51.100.7')).to.equal('198.51.100.7');
  });

  it('is the last untrusted hop, because earlier hops may be forged', () => {
    expect(sourceOf('10.0.0.1', '203.0.113.9, 198.51.100.7')).to.equal('198.51.100.7');
    expect(sourceOf('10.0.0.1', '203.0.113.9, 198.51.100.7, 10.2.2.2,10.3.3.3')).to.equal('198.51.100.7');
    expect(sourceOf('10.0.0.1', '10.9.9.9, 198.51.100.7')).to.equal('198.51.100.7');
  });

  it('is the first hop when all hops are trusted', () => {
    expect(sourceOf('10.0.0.1', '10.2.2.2, 10.3.3.3')).to.equal('10.2.2.2');
    expect(sourceOf('10.0.0.1')).to.equal('10.0.0.1');
    expect(sourceOf('10.0.0.1', '')).to.equal('10.0.0.1');
  });

  it('is the last valid hop when an earlier hop is not an address', () => {
    const numbers = ['300.1.1.1', '1', '0x7f.1', '1.2.3.4.5', '1.2.3.4:x'];
    for (const garbage of ['unknown', '_hidden', '', '[::1', '::1]', ...numbers]) {
      expect(sourceOf('10.0.0.1', `${garbage}, 10.2.2.2`), garbage).to.equal('10.2.2.2');
      expect(sourceOf('10.0.0.1', `198.51.100.7, ${garbage}`), garbage).to.equal('10.0.0.1');
    }
  });

  it('omits ports and brackets', () => {
    expect(sourceOf('10.0.0.1', '198.51.100.7:51234')).to.equal('198.51.100.7');
    const same = ['2001:db8::7', '[2001:db8::7]', '[2001:db8::7]:443', '2001:DB8:0:0::7', '2001:db8::7%eth0'];
    expect(new Set(same.map((hop) => sourceOf('10.0.0.1', hop))).size).to.equal(1);
  });

  it('is a /64 network for IPv6, and the IPv4 address for IPv4 in IPv6 notation', () => {
    const one = sourceOf('2001:db8:1:2::1');
    expect(sourceOf('2001:db8:1:2:ffff:ffff:ffff:ffff')).to.equal(one);
    expect(sourceOf('2001:db8:1:3::1')).not.to.equal(one);
    expect(sourceOf('2001:db8:1:2::1', undefined, [])).to.equal(one);
    expect(sourceOf('::ffff:192.0.2.1')).to.equal('192.0.2.1');
    expect(sourceOf('::ffff:192.0.2.1', undefined, [])).to.equal('192.0.2.1');
    expect(sourceOf('10.0.0.1', '::ffff:192.0.2.1')).to.equal('192.0.2.1');
  });

  it('is found among the last sixteen hops only', () => {
    const hops = Array.from({ length: 15 }, (_, at) => `10.1.1.${at}`);
    expect(sourceOf('10.0.0.1', ['198.51.100.7', ...hops].join(','))).to.equal('198.51.100.7');
    expect(sourceOf('10.0.0.1', ['198.51.100.7', '10.1.2.3', ...hops].join(','))).to.equal('10.1.2.3');
  });

  it('is the same for all clients that disconnected before their address was read', () => {
    expect(sourceOf(undefined)).to.equal(sourceOf(undefined, '198.51.100.7'));
  });
});
