/**
 * Headers that decide something and stand there twice: two readers in a chain may act on different ones, so neither is
 * acted on. Refused as each surface refuses a credential or a body that is wrong, and recorded as that.
 */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { converse } from '../../support/hostile/raw-conversation.ts';
import { expectRefused, expectUntouched, reachedBy } from '../../support/hostile/untouched.ts';
import { ADMIN_KEY, type Mandate, startMandate } from '../../support/mandate.ts';
import { PREVIOUS_SCIM_TOKEN, SCIM_TOKEN, scimSettings } from '../../support/scim-client.ts';

const PUSH_CREDENTIAL = 'a-push-credential-that-only-the-tests-know-01';
const PREVIOUS_PUSH_CREDENTIAL = 'a-push-credential-that-was-before-0123456789';
const WRONG = 'a-credential-of-nobody-0123456789-0123456789';
const SETTINGS = {
  ...scimSettings,
  'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
  'Service:Ssf:Issuer': 'http://127.0.0.1:9/tenant',
  'Service:Ssf:Audience': 'https://mandate.test/stream',
  'Service:Ssf:BearerToken': PUSH_CREDENTIAL,
  'Service:Ssf:PreviousBearerToken': PREVIOUS_PUSH_CREDENTIAL,
  'Service:Audit:Aggregation:Enabled': 'false',
};

interface Surface {
  readonly name: string;
  readonly line: string;
  readonly key: string;
  /** Good as well, where there are two. */
  readonly otherKey: string;
  readonly event: string;
}

const surfaces: readonly Surface[] = [
  { name: 'admin', line: 'GET /admin/agents', key: ADMIN_KEY, otherKey: ADMIN_KEY, event: 'admin.denied' },
  { name: 'audit', line: 'GET /audit', key: ADMIN_KEY, otherKey: ADMIN_KEY, event: 'admin.denied' },
  { name: 'scim', line: 'GET /scim/v2/Users', key: SCIM_TOKEN, otherKey: PREVIOUS_SCIM_TOKEN, event: 'scim.denied' },
  {
    name: 'events',
    line: 'POST /events',
    key: PUSH_CREDENTIAL,
    otherKey: PREVIOUS_PUSH_CREDENTIAL,
    event: 'ssf.denied',
  },
];

const FORM = 'application/x-www-form-urlencoded';

interface BodySurface {
  readonly path: string;
  readonly credential: string;
  readonly type: string;
  /** Also a type, of the same surface or of another one. */
  readonly otherType: string;
  readonly status: number;
  readonly record: readonly (readonly [string, string])[];
}

const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`;
const denied = [['token.denied', 'invalid_request']] as const;
const bodySurfaces: readonly BodySurface[] = [
  ...['/oauth2/token', '/oauth2/introspect', '/oauth2/revoke'].map(
    (path): BodySurface => ({
      ...{ path, credential: '', type: FORM, otherType: 'application/json', status: 400, record: denied },
    }),
  ),
  {
    ...{ path: '/backchannel-logout', credential: '', type: FORM, otherType: 'application/logout+jwt', status: 400 },
    record: [['signal.denied', 'logout_malformed']],
  },
  {
    ...{ path: '/events', credential: bearer(PUSH_CREDENTIAL), type: 'application/secevent+jwt', otherType: FORM },
    ...{ status: 400, record: [['signal.denied', 'ssf_malformed']] },
  },
  {
    ...{ path: '/scim/v2/Users', credential: bearer(SCIM_TOKEN), type: 'application/scim+json' },
    ...{ otherType: 'application/json', status: 415, record: [] },
  },
  {
    ...{ path: '/admin/agents', credential: bearer(ADMIN_KEY), type: 'application/json' },
    ...{ otherType: 'application/scim+json', status: 415, record: [] },
  },
];

describe('doubled headers', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: SETTINGS });
  });
  after(() => mandate.stop());

  const ask = async (line: string, headers: string, body = '') =>
    converse(mandate.url, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`);

  for (const { name, line, key, otherKey, event } of surfaces) {
    it(`of a credential open nothing on ${name}, whichever of them is good`, async () => {
      const doubled = [
        bearer(key) + bearer(WRONG),
        bearer(WRONG) + bearer(key),
        bearer(key) + bearer(key),
        bearer(key) + bearer(otherKey),
        bearer(key) + bearer(key).toLowerCase(),
        `${bearer(key)}X-Between: x\r\nAUTHORIZATION: Basic eDp5\r\n`,
        `Authorization: Basic eDp5\r\n${bearer(key)}`,
        `${bearer(key)}Authorization:\r\n`,
        `Authorization: Bearer ${key}, Bearer ${key}\r\n`,
        `Authorization: Bearer ${key} Bearer ${WRONG}\r\n`,
      ];
      const { records } = await reachedBy(mandate, async () => {
        for (const headers of doubled) {
          const { answers } = await ask(line, `${headers}Content-Length: 0\r\n`);
          expect(answers.map(({ status }) => status)).to.deep.equal([401]);
          expect(answers[0]?.body).not.to.include(key);
        }
      });
      expect(records).to.have.length(doubled.length);
      for (const record of records) {
        expect(record).to.include({
          event,
          reason: 'invalid_api_key',
          decision: 'deny',
          agent_id: null,
          sponsor: null,
        });
      }
      const good = await ask(line, `${bearer(otherKey)}Content-Length: 0\r\n`);
      expect(good.answers[0]?.status).not.to.equal(401);
    });
  }

  for (const { path, credential, type, otherType, status, record } of bodySurfaces) {
    const line = `POST ${path}`;
    const named = 'token=x&logout_token=x';
    const length = `Content-Length: ${named.length}\r\n`;

    it(`of what the body is, are refused by ${path}`, async () => {
      const types = [
        [type, type],
        [type, otherType],
        [otherType, type],
        [`${type}, ${type}`],
        [`${type}, ${otherType}`],
        [type, ''],
        [`${type}; charset=utf-8; charset=utf-16`],
      ];
      const { records } = await reachedBy(mandate, async () => {
        for (const given of types) {
          const headers = given.map((value) => `Content-Type: ${value}\r\n`).join('');
          const { answers } = await ask(line, credential + headers + length, named);
          expect(
            answers.map((answer) => answer.status),
            headers,
          ).to.deep.equal([status]);
        }
      });
      expect(records.map(({ event, reason }) => [event, reason])).to.deep.equal(types.flatMap(() => record));
    });

    it(`of how the body is encoded, and encodings, are refused by ${path}`, async () => {
      const encodings = [
        ['gzip'],
        ['gzip', 'gzip'],
        ['identity', 'gzip'],
        ['gzip', 'identity'],
        ['identity', 'identity'],
      ];
      const { records } = await reachedBy(mandate, async () => {
        for (const given of [...encodings, ['br'], ['aes128gcm']]) {
          const headers = `Content-Type: ${type}\r\n${given.map((value) => `Content-Encoding: ${value}\r\n`).join('')}`;
          const { answers } = await ask(line, credential + headers + length, named);
          expect(
            answers.map((answer) => answer.status),
            headers,
          ).to.deep.equal([status]);
        }
      });
      const recorded = records.map(({ event, reason }) => [event, reason]);
      expect(recorded).to.deep.equal(Array.from({ length: encodings.length + 2 }, () => record).flat());
    });

    it(`of how long the body is never come as far as ${path}`, () =>
      expectUntouched(mandate, async () => {
        for (const lengths of [length + length, `${length}Content-Length: 0\r\n`, `Content-Length: 0\r\n${length}`]) {
          expectRefused(await ask(line, `${credential}Content-Type: ${type}\r\n${lengths}`, named));
        }
      }));
  }
});
