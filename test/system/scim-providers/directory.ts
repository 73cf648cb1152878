/** A service with the SCIM endpoint, and an agent whose people a provider maintains. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestDatabase } from '../../support/databases.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { PATCH_SCHEMA, type ScimClient, scimClient, scimSettings } from '../../support/scim-client.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

export const patchOf = (operation: string) => `{"schemas":["${PATCH_SCHEMA}"],"Operations":[${operation}]}`;

export const ENTRA_DEACTIVATION = patchOf('{"op":"Replace","path":"active","value":"False"}');

export const ENTRA_FLAG_DEACTIVATION = patchOf('{"op":"replace","path":"active","value":false}');

export const ENTRA_REACTIVATION = ENTRA_DEACTIVATION.replace('False', 'True');

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function directoryOn(database: TestDatabase) {
  let mandate: Mandate;
  let agent: RegisteredAgent;
  let scim: ScimClient;

  before(async () => {
    mandate = await startMandate({ database, settings: { ...scimSettings, ...sharedSigningKey() } });
    scim = scimClient(mandate);
    agent = await mandate.agent();
  });

  after(() => mandate.stop());
  const exchangeFor = (sub: string) => agent.exchangeFor({ sub });
  const introspect = (issued: Answer) => mandate.introspect(issued);

  const brief = async (act: () => Promise<unknown>) =>
    fieldsOf(await mandate.recorded(act), 'event', 'decision', 'reason', 'sponsor').map((fields) => fields.join(' '));

  const signals = (reason: string, sub: string) => [`sponsor.signal allow ${reason} ${sub}`];

  /** The records of a signal that ends one task. */
  const ending = (reason: string, sub: string) => [...signals(reason, sub), `task.revoked allow ${reason} ${sub}`];

  /** Starts a task for a new person. Resolves with the sponsor key and the response of the exchange. */
  async function working() {
    const sub = `00u${randomUUID()}`;
    const issued = await exchangeFor(sub);
    expect(issued.status, issued.text).to.equal(200);
    return { sub, issued };
  }

  async function expectStopped(sub: string, issued: Answer, reason: string): Promise<void> {
    expect(await introspect(issued)).to.deep.include({ active: false, revocation_reason: reason });
    const refreshed = await agent.refresh(String(issued.body.refresh_token));
    expect(refreshed.status, refreshed.text).to.equal(400);
    const again = await exchangeFor(sub);
    const denial = reason === 'scim_deleted' ? 'sponsor_not_found' : 'sponsor_disabled';
    expect(again.body).to.include({ error: 'access_denied', reason: denial });
  }

  return {
    get mandate() {
      return mandate;
    },
    get scim() {
      return scim;
    },
    exchangeFor,
    introspect,
    brief,
    signals,
    ending,
    working,
    expectStopped,
  };
}

export type Directory = ReturnType<typeof directoryOn>;
