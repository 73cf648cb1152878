import { expect } from 'chai';
import {
  bearerToken,
  boolean,
  choice,
  duration,
  integer,
  jwkSet,
  path,
  pem,
  postgresUri,
  text,
  url,
  type ValueType,
} from '../../../composition/settings/value-type.ts';
import { Secret } from '../../../domain/secret.ts';
import { OFF_CURVE_KEY, P256_KEY } from '../../support/registrations.ts';

const PEM = '-----BEGIN PRIVATE KEY-----\nMIGHAgEA\n-----END PRIVATE KEY-----';

/** Valid texts with their values, and invalid texts. A test reveals a secret to compare it. */
interface Case {
  readonly name: string;
  readonly type: ValueType<unknown>;
  readonly reads: readonly (readonly [string, unknown])[];
  readonly refuses: readonly string[];
}

const keySet = (...keys: readonly object[]) => JSON.stringify({ keys });

/** Texts that are their own values. */
const same = (...texts: readonly string[]): Case['reads'] => texts.map((each) => [each, each]);

const cases: readonly Case[] = [
  {
    name: 'a key set',
    type: jwkSet(),
    reads: [[keySet(P256_KEY), { keys: [P256_KEY] }]],
    refuses: [
      ...['{"keys":', '{}', '{"keys":[],"keys":[]}', keySet(), keySet(P256_KEY, P256_KEY)],
      keySet({ ...P256_KEY, kid: undefined }),
      keySet({ ...P256_KEY, d: 'jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI' }),
      keySet({ ...P256_KEY, use: 'enc' }),
      keySet({ ...P256_KEY, crv: 'P-384' }),
      keySet({ ...P256_KEY, y: P256_KEY.y.slice(1) }),
      keySet({ kty: 'RSA', n: 'AQAB', e: 'AQAB', kid: 'rsa' }),
      keySet(P256_KEY, OFF_CURVE_KEY),
      keySet({ ...P256_KEY, more: 'm'.repeat(65_536) }),
    ],
  },
  {
    name: 'text',
    type: text({ max: 10 }),
    reads: same('a', 'two words', '0123456789'),
    refuses: ['01234567890', ' a', 'a ', '   ', 'a\nb', 'a\u0000', 'a\u0085', 'a\ud800'],
  },
  {
    name: 'text without white space',
    type: text({ whitespace: false }),
    reads: same('urn:claim'),
    refuses: ['two words', 'two\u00a0words', 'two\tparts'],
  },
  {
    name: 'a path',
    type: path(),
    reads: same('/var/lib/with space/a.db'),
    refuses: ['a\u0000b', ' '],
  },
  {
    name: 'a URL',
    type: url({}),
    reads: same(
      'https://idp.example',
      'http://127.0.0.1:8080/realms/a/',
      'https://[::1]:8443',
      'HTTPS://IdP.example/%20',
      'https://idp.example/@team',
    ),
    refuses: [
      ...['idp.example', '/realms/a', '//idp.example', 'ftp://idp.example', 'https:idp.example', 'https:/idp.example'],
      ...['https://', 'https:///path', ' https://idp.example', 'https://idp.éxample', 'https://user@idp.example'],
      ...['https://user:pass@idp.example', 'https://@idp.example', 'https://idp.example\\@evil.example'],
      ...[':port', ':70000', ' ', '/a b', '/a\nb', '/#fragment', '#', '?query=1', '/?', `/${'a'.repeat(2048)}`].map(
        (rest) => `https://idp.example${rest}`,
      ),
    ],
  },
  {
    name: 'a URL that may have a query',
    type: url({ query: 'accepted' }),
    reads: same('https://idp.example/.well-known/x?p=policy@1'),
    refuses: ['https://idp.example/x?p=1#f', 'https://user@idp.example/x?p=1'],
  },
  {
    name: 'a URL that loses its trailing slash',
    type: url({ trailingSlash: 'dropped' }),
    reads: [
      ['https://mandate.example/', 'https://mandate.example'],
      ['https://mandate.example', 'https://mandate.example'],
      ['https://mandate.example/tenant/', 'https://mandate.example/tenant'],
    ],
    refuses: ['https://mandate.example/?a=1'],
  },
  {
    name: 'a URL of an issuer, which is no address of metadata',
    type: url({ trailingSlash: 'dropped', wellKnown: 'refused' }),
    reads: same('https://mandate.example/well-known', 'https://mandate.example/.well-known-7/tenant'),
    refuses: [
      '/.well-known',
      '/.well-known/',
      '/.well-known/openid-configuration',
      '/.well-known/oauth-authorization-server/tenant',
      '/tenant/.well-known/openid-configuration/',
    ].map((path) => `https://mandate.example${path}`),
  },
  {
    name: 'an https URL',
    type: url({ scheme: 'https' }),
    reads: same('https://sink.example/in'),
    refuses: ['http://sink.example/in'],
  },
  {
    name: 'a duration',
    type: duration(),
    reads: [
      ['PT30M', 1800],
      ['00:30:00', 1800],
      ['P1D', 86_400],
    ],
    refuses: ['PT0S', '30', '-PT1M', 'P1M', '1800s'],
  },
  {
    name: 'a bounded duration',
    type: duration({ min: 'PT1S', max: 'PT1H' }),
    reads: [
      ['PT1S', 1],
      ['PT1H', 3600],
    ],
    refuses: ['PT1H1S', '1.00:00:00'],
  },
  {
    name: 'a duration of at least a month',
    type: duration({ min: 'P31D' }),
    reads: [['P31D', 2_678_400]],
    refuses: ['P30D'],
  },
  {
    name: 'an integer',
    type: integer({ min: 1, max: 1000 }),
    reads: [
      ['1', 1],
      ['1000', 1000],
    ],
    refuses: ['0', '1001', '-1', '+1', '1.0', '1e2', '0x10', ' 1', '1_000', '１', 'one', '9'.repeat(400)],
  },
  {
    name: 'a boolean',
    type: boolean(),
    reads: [
      ['true', true],
      ['false', false],
    ],
    refuses: ['True', 'FALSE', '1', '0', 'yes', 'no', 'on'],
  },
  {
    name: 'a choice',
    type: choice('poll', 'signals'),
    reads: same('signals'),
    refuses: ['Poll', 'poll ', 'toString'],
  },
  {
    name: 'a bearer token',
    type: bearerToken({ min: 32 }),
    reads: same('a'.repeat(32), 'AZaz09-._~+/AZaz09-._~+/AZaz09=='),
    refuses: [
      ...['a'.repeat(31), 'a'.repeat(2049), 'é'.repeat(32)],
      ...[`${'a'.repeat(32)}!`, `${'a'.repeat(16)} ${'a'.repeat(16)}`, `=${'a'.repeat(32)}`],
    ],
  },
  {
    name: 'the text of a PEM file',
    type: pem(),
    reads: [
      [PEM, PEM],
      [`${PEM}\n`, PEM],
      [PEM.replaceAll('\n', '\\n'), PEM],
      [PEM.replaceAll('\n', '\r\n'), PEM.replaceAll('\n', '\r\n')],
    ],
    refuses: [
      ...['MIGHAgEA', '/run/secrets/key.pem', '-----BEGIN PRIVATE KEY-----', `x${PEM}`],
      PEM.replace('MIGHAgEA', 'x'.repeat(70_000)),
    ],
  },
  {
    name: 'a libpq URI',
    type: postgresUri(),
    reads: same(
      'postgresql://u:p%40ss@db.example:5433/mandate?sslmode=require',
      'postgres://db/mandate',
      'postgresql:///mandate?host=/run/postgresql',
      'postgresql://u:p@/mandate?host=/run/postgresql',
      'postgresql://u:100%@db/mandate',
      'postgresql://u:p@db1:5432,[::1]:5433/mandate?target_session_attrs=primary',
    ),
    refuses: [
      ...['host=db user=u password=p', 'mysql://u:p@db/mandate', 'Host=db;Username=u;Password=p'],
      'postgresql:db/mandate',
      ...['u:p#ss@db/mandate', 'u:p@db:port/mandate', 'u:p@db/man date', 'u:p%ff@db/mandate', 'u%ff@db/mandate'].map(
        (rest) => `postgresql://${rest}`,
      ),
      'postgresql://u:p@db/mandate%ff',
    ],
  },
];

for (const { name, type, reads, refuses } of cases) {
  describe(`A setting that is ${name}`, () => {
    for (const [given, value] of reads) {
      it(`reads ${shown(given)}`, () => {
        const reading = type.read(given);
        expect(reading.kind).to.equal('read');
        if (reading.kind === 'read') {
          expect(reading.value instanceof Secret).to.equal(type.secret);
          expect(reading.value instanceof Secret ? reading.value.reveal() : reading.value).to.deep.equal(value);
        }
      });
    }

    for (const given of refuses) {
      it(`refuses ${shown(given)} without repeating it`, () => {
        const reading = type.read(given);
        expect(reading.kind).to.equal('wrong');
        if (reading.kind === 'wrong') {
          expect(reading.problem).to.match(/^(is|holds|has|begins|does) /);
          if (given.trim().length > 6) expect(reading.problem).not.to.contain(given.trim());
        }
      });
    }
  });
}

function shown(given: string): string {
  return JSON.stringify(given.length > 60 ? `${given.slice(0, 50)}… (${given.length} characters)` : given);
}
