import { expect } from 'chai';
import fc from 'fast-check';
import ipaddr from 'ipaddr.js';
import { isPublicAddress } from '../../../adapters/platform/public-address.ts';

/** The first and the last address of each network. */
const PRIVATE: Readonly<Record<string, readonly string[]>> = {
  unspecified: ['0.0.0.0', '0.255.255.255', '::'],
  private: ['10.0.0.0', '10.255.255.255', '172.16.0.0', '172.31.255.255', '192.168.0.0', '192.168.255.255'],
  'carrier-grade NAT': ['100.64.0.0', '100.127.255.255'],
  loopback: ['127.0.0.0', '127.0.0.1', '127.255.255.255', '::1'],
  'link-local': ['169.254.0.0', '169.254.255.255', 'fe80::', 'febf:ffff::1', 'fe80::1%eth0'],
  'unique-local': ['fc00::', 'fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff'],
  'site-local': ['fec0::', 'feff:ffff::'],
  multicast: ['224.0.0.0', '239.255.255.255', 'ff00::', 'ff02::1'],
  reserved: ['192.0.0.0', '192.0.0.255', '198.18.0.0', '198.19.255.255', '240.0.0.0', '255.255.255.255', '100::1'],
  documentation: ['192.0.2.0', '198.51.100.255', '203.0.113.7', '2001:db8::', '2001:db8:ffff::', '3fff:fff::1'],
  'cloud metadata': ['169.254.169.254', '100.100.100.200', '192.0.0.192', '168.63.129.16', 'fd00:ec2::254'],
  'embedded as IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:a9fe:a9fe', '::ffff:0.0.0.0'],
  'embedded by NAT64': ['64:ff9b::127.0.0.1', '64:ff9b::a00:1', '64:ff9b::169.254.169.254', '64:ff9b:1::808:808'],
  'embedded by 6to4': [
    '2002:7f00:1::',
    '2002:7fff:ffff:ffff::1',
    '2002:a00:1::1',
    '2002:c0a8:101::',
    '2002:a9fe:a9fe::',
  ],
  'embedded in other ways': ['::127.0.0.1', '::ffff:0:7f00:1', '2001:0:7f00:1::1'],
  'outside of global unicast': ['1fff::', '4000::', '5f00::', '8000::1', 'e000::'],
};

const PUBLIC = [
  ...['1.0.0.0', '9.255.255.255', '11.0.0.0', '100.63.255.255', '100.128.0.0', '126.255.255.255', '128.0.0.0'],
  ...['168.63.129.15', '168.63.129.17', '169.253.255.255', '169.255.0.0', '172.15.255.255', '172.32.0.0'],
  ...['192.167.255.255', '192.169.0.0', '198.17.255.255', '198.20.0.0', '223.255.255.255'],
  ...['2000::', '2001:200::', '2606:4700::1111', '2a00:1450::', '3ffe::1', '3fff:1000::'],
  ...['::ffff:8.8.8.8', '64:ff9b::8.8.8.8', '2002:808:808::1'],
];

describe('An address', () => {
  for (const [kind, addresses] of Object.entries(PRIVATE)) {
    it(`is not public when it is ${kind}`, () => {
      expect(addresses.filter(isPublicAddress)).to.deep.equal([]);
    });
  }

  it('is public outside such networks, and when it embeds a public address', () => {
    expect(PUBLIC.filter((address) => !isPublicAddress(address))).to.deep.equal([]);
  });

  it('is not public when the text is not an address', () => {
    const numbers = ['8.8.8', '8.8.8.8.', '08.8.8.8', '0x8.8.8.8', '134744072', '8.8.8.8/32'];
    expect(['', 'localhost', '[2606:4700::1]', ...numbers].filter(isPublicAddress)).to.deep.equal([]);
  });

  it('has the same verdict as another library, except for embedded addresses and an address of Azure', () => {
    const octet = fc.integer({ min: 0, max: 255 });
    const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));
    const group = fc.integer({ min: 0, max: 0xffff });
    const first = fc.oneof(group, fc.constantFrom(0, 0x64, 0x100, 0x2001, 0x2002, 0x2620, 0x3fff, 0xfc00, 0xfe80));
    // Only groups of hex digits, because the library reads ::1.0.0.0 as an IPv4-mapped address.
    const ipv6 = fc
      .tuple(
        first,
        fc.oneof(group, fc.integer({ min: 0, max: 0x300 })),
        fc.array(group, { minLength: 6, maxLength: 6 }),
      )
      .map(([one, two, rest]) => [one, two, ...rest].map((part) => part.toString(16)).join(':'));
    fc.assert(
      fc.property(fc.oneof(ipv4, ipv6), (address) => {
        const parsed = ipaddr.process(address);
        const range = parsed.range();
        fc.pre(!['rfc6052', '6to4'].includes(range) && address !== '168.63.129.16');
        const isGlobal = parsed.kind() === 'ipv4' || (parsed.toByteArray()[0] ?? 0) >> 5 === 1;
        expect(isPublicAddress(address), `${address} ${range}`).to.equal(isGlobal && range === 'unicast');
      }),
      { numRuns: 3000 },
    );
  });
});
