import { expect } from 'chai';
import { contains, parseAddress } from '../../../adapters/http/admission/request-source.ts';
import { networkList } from '../../../composition/settings/value-type.ts';
import { errorsWith } from './sources.ts';

const problemOf = (text: string) => {
  const reading = networkList().read(text);
  return reading.kind === 'wrong' ? reading.problem : undefined;
};

const isTrusted = (list: string, text: string): boolean => {
  const reading = networkList().read(list);
  const address = parseAddress(text);
  if (reading.kind === 'wrong' || address === undefined) throw new Error('not a list, or not an address');
  return reading.value.some((network) => contains(network, address));
};

describe('A setting that is a list of networks', () => {
  it('accepts IPv4 and IPv6 networks, with and without spaces after the commas', () => {
    const list = '10.1.0.0/16,  2001:db8:7::/48, 192.0.2.9/32';
    for (const inside of ['10.1.255.255', '2001:db8:7:ffff::1', '192.0.2.9', '::ffff:10.1.0.1']) {
      expect(isTrusted(list, inside), inside).to.equal(true);
    }
    for (const outside of ['10.2.0.0', '2001:db8:8::1', '192.0.2.8', '::ffff:10.2.0.1']) {
      expect(isTrusted(list, outside), outside).to.equal(false);
    }
  });

  it('reads an IPv4 network in IPv6 notation as that IPv4 network', () => {
    expect(isTrusted('::ffff:10.0.0.0/104', '10.9.8.7')).to.equal(true);
    expect(isTrusted('::ffff:10.0.0.0/104', '11.0.0.1')).to.equal(false);
  });

  it('refuses a network of all addresses in every notation', () => {
    for (const everybody of ['0.0.0.0/0', '::/0', '::ffff:0.0.0.0/96']) {
      expect(problemOf(`10.0.0.0/8,${everybody}`), everybody).to.match(/^is wrong at 2: it includes every address/);
    }
  });

  it('names a malformed network by its position, and does not repeat its text', () => {
    const malformed = ['10.0.0.1', '10.0.0.0/33', '2001:db8::/129', '10.0.0/8', '0x0a.0.0.0/8', '010.0.0.0/8', '10/8']
      .concat('10.0.0.0/08', '10.0.0.0/-1', '10.0.0.0/', '/8', '10.0.0.0/8/8', 'proxies.example/24', 'fe80::%eth0/10')
      .concat('::ffff:10.0.0.0/95', '::10.0.0.0/104', '10.0.0.0 /8', '');
    for (const text of malformed) {
      const problem = problemOf(`192.0.2.0/24,${text}`);
      expect(problem, text).to.equal('is wrong at 2: it is not a network in CIDR notation');
    }
    expect(errorsWith({ 'Service:RateLimit:TrustedProxies': '10.0.0.0/8,hunter2' })).to.deep.equal([
      'Service:RateLimit:TrustedProxies: is wrong at 2: it is not a network in CIDR notation',
    ]);
  });

  it('refuses a network with bits set beyond its prefix, because a smaller network was probably meant', () => {
    for (const text of ['10.0.0.5/8', '192.0.2.129/25', '2001:db8::1/64', '2001:db8:0:8000::/48']) {
      expect(problemOf(text), text).to.equal('is wrong at 1: it has bits set beyond its prefix');
    }
    for (const text of ['192.0.2.128/25', '2001:db8:0:8000::/49', '2001:db8::1/128', '10.0.0.5/32']) {
      expect(problemOf(text), text).to.equal(undefined);
    }
  });

  it('refuses more than 100 networks', () => {
    const networks = Array.from({ length: 101 }, (_, at) => `10.0.${at}.0/24`);
    expect(problemOf(networks.slice(1).join())).to.equal(undefined);
    expect(problemOf(networks.join())).to.equal('names more than 100 networks');
  });
});
