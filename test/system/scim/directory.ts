/** A service with the SCIM endpoint. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestDatabase } from '../../support/databases.ts';
import { type Answer, type Mandate, startMandate } from '../../support/mandate.ts';
import { type ScimClient, scimClient, scimSettings } from '../../support/scim-client.ts';

const ERROR_SCHEMA = 'urn:ietf:params:scim:api:messages:2.0:Error';

export function expectError(answer: Answer, status: number, scimType?: string): void {
  expect(answer.status, answer.text).to.equal(status);
  expect(answer.headers.get('content-type')).to.equal('application/scim+json');
  expect(answer.headers.get('cache-control')).to.equal('no-store');
  const { detail, ...rest } = answer.body;
  expect(detail).to.be.a('string');
  expect(rest).to.deep.equal({
    schemas: [ERROR_SCHEMA],
    status: String(status),
    ...(scimType === undefined ? {} : { scimType }),
  });
}

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function directoryOn(database: TestDatabase) {
  let mandate: Mandate;
  let scim: ScimClient;

  const aBody = (changes: Readonly<Record<string, unknown>> = {}) => {
    const who = randomUUID();
    return { userName: `${who}@example.org`, externalId: who, ...changes };
  };

  before(async () => {
    mandate = await startMandate({ database, settings: scimSettings });
    scim = scimClient(mandate);
  });

  after(() => mandate.stop());

  return {
    get mandate() {
      return mandate;
    },
    get scim() {
      return scim;
    },
    aBody,
  };
}

export type Directory = ReturnType<typeof directoryOn>;
