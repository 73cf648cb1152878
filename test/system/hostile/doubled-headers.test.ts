/**
 * Repeated headers. A proxy and the service may each read another one of them, so the service uses none. Each surface
 * refuses and records them as a wrong credential or body.
 */

import { expect } from 'chai';
import { sqliteFile } from '../../support/databases.ts';
import { effectsOf, expectNoEffect, expectRefused } from '../../support/hostile/no-effect.ts';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { ADMIN_KEY, fieldsOf, type Mandate, startMandate } from '../../support/mandate.ts';
import { PREVIOUS_SCIM_TOKEN, SCIM_TOKEN } from '../../support/scim-client.ts';
import { EVERY_RECEIVER, FORMER_PUSH_CREDENTIAL, PUSH_CREDENTIAL } from '../../support/transmitter.ts';

const WRONG = 'a-credential-of-nobody-0123456789-0123456789';
const SETTINGS = { ...EVERY_RECEIVER, 'Service:Audit:Aggregation:Enabled': 'false' };

interface Surface {
  readonly name: string;
  readonly line: string;
  readonly key: string;
  /** Another valid credential, if the surface has two. */
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
    otherKey: FORMER_PUSH_CREDENTIAL,
    event: 'ssf.denied',
  },
];

const FORM = 'application/x-www-form-urlencoded';

const bearer = (key: string) => `Authorization: Bearer ${key}\r\n`;
const denied = [['token.denied', 'invalid_request']] as const;
/** Surfaces that read a body: an accepted and a refused media type, and the status and records of a refusal. */
const bodySurfaces: readonly (readonly [
  path: string,
  credential: string,
  type: string,
  otherType: string,
  status: number,
  record: readonly (readonly [event: string, reason: string])[],
])[] = [
  ['/oauth2/token', '', FORM, 'application/json', 400, denied],
  ['/oauth2/introspect', '', FORM, 'application/json', 400, denied],
  ['/oauth2/revoke', '', FORM, 'application/json', 400, denied],
  ['/backchannel-logout', '', FORM, 'application/logout+jwt', 400, [['signal.denied', 'logout_malformed']]],
  ['/events', bearer(PUSH_CREDENTIAL), 'application/secevent+jwt', FORM, 400, [['signal.denied', 'ssf_malformed']]],
  ['/scim/v2/Users', bearer(SCIM_TOKEN), 'application/scim+json', 'application/json', 415, []],
  ['/admin/agents', bearer(ADMIN_KEY), 'application/json', 'application/scim+json', 415, []],
];

describe('Repeated headers', () => {
  let mandate: Mandate;
  before(async () => {
    mandate = await startMandate({ database: sqliteFile, settings: SETTINGS });
  });
  after(() => mandate.stop());

  const ask = async (line: string, headers: string, body = '') =>
    sendBytes(mandate.url, `${line} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n${headers}\r\n${body}`);

  for (const { name, line, key, otherKey, event } of surfaces) {
    it(`with a credential are refused by ${name}, even if one or both of them are valid`, async () => {
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
      const { records } = await effectsOf(mandate, async () => {
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

  for (const [path, credential, type, otherType, status, record] of bodySurfaces) {
    const line = `POST ${path}`;
    const named = 'token=x&logout_token=x';
    const length = `Content-Length: ${named.length}\r\n`;

    it(`with a media type are refused by ${path}`, async () => {
      const types = [
        [type, type],
        [type, otherType],
        [otherType, type],
        [`${type}, ${type}`],
        [`${type}, ${otherType}`],
        [type, ''],
        [`${type}; charset=utf-8; charset=utf-16`],
      ];
      const { records } = await effectsOf(mandate, async () => {
        for (const given of types) {
          const headers = given.map((value) => `Content-Type: ${value}\r\n`).join('');
          const { answers } = await ask(line, credential + headers + length, named);
          expect(
            answers.map((answer) => answer.status),
            headers,
          ).to.deep.equal([status]);
        }
      });
      expect(fieldsOf(records, 'event', 'reason')).to.deep.equal(types.flatMap(() => record));
    });

    it(`of Content-Encoding are refused by ${path}, as is a single one that names a compression`, async () => {
      const once = [['gzip'], ['br'], ['aes128gcm']];
      const twice = [
        ['gzip', 'gzip'],
        ['identity', 'gzip'],
        ['gzip', 'identity'],
        ['identity', 'identity'],
      ];
      const { records } = await effectsOf(mandate, async () => {
        for (const given of [...once, ...twice]) {
          const headers = `Content-Type: ${type}\r\n${given.map((value) => `Content-Encoding: ${value}\r\n`).join('')}`;
          const { answers } = await ask(line, credential + headers + length, named);
          expect(
            answers.map((answer) => answer.status),
            headers,
          ).to.deep.equal([status]);
        }
      });
      expect(fieldsOf(records, 'event', 'reason')).to.deep.equal([...once, ...twice].flatMap(() => record));
    });

    it(`with a Content-Length are refused before they reach ${path}`, () =>
      expectNoEffect(mandate, async () => {
        for (const lengths of [length + length, `${length}Content-Length: 0\r\n`, `Content-Length: 0\r\n${length}`]) {
          expectRefused(await ask(line, `${credential}Content-Type: ${type}\r\n${lengths}`, named));
        }
      }));
  }
});
