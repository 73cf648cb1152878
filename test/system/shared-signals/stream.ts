/** A service that receives security events, and their transmitter. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { TestDatabase } from '../../support/databases.ts';
import { type Answer, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { PUSH_CREDENTIAL, startTransmitter, type Transmitter } from '../../support/transmitter.ts';

export const PATH = '/events';

export const CAEP = 'https://schemas.openid.net/secevent/caep/event-type/';

export const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';

export const OAUTH = 'https://schemas.openid.net/secevent/oauth/event-type/';

export const SESSION_REVOKED = `${CAEP}session-revoked`;

export type Claims = Readonly<Record<string, unknown>>;

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function streamOn(database: TestDatabase) {
  let transmitter: Transmitter;
  let mandate: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    transmitter = await startTransmitter(() => mandate.clock.seconds());
    mandate = await startMandate({
      database,
      settings: {
        ...transmitter.settings,
        'Service:UpstreamIdp:SponsorKeyClaim': 'oid',
        'Service:Audit:Aggregation:Enabled': 'false',
      },
    });
    agent = await mandate.agent();
  });

  after(async () => {
    await mandate.stop();
    await transmitter.stop();
  });

  const post = (init: RequestInit, to: Mandate = mandate) => to.send(PATH, { method: 'POST', ...init });

  const pushed = (credential = PUSH_CREDENTIAL, type = 'application/secevent+jwt') => ({
    authorization: `Bearer ${credential}`,
    'content-type': type,
  });

  const push = (token: string, to: Mandate = mandate) => post({ headers: pushed(), body: token }, to);
  const about = (id: string) => ({ format: 'opaque', id });
  const event = (name: string, id: string, more: Claims = {}) => transmitter.event(name, id, more);

  /** Starts a task for a new person. */
  const newTask = async (oid: string = randomUUID()) => {
    const issued = await agent.exchangeFor({ oid });
    return { oid, status: issued.status, body: issued.body, token: String(issued.body.access_token) };
  };

  const introspect = ({ token }: { readonly token: string }) => mandate.introspect(token);

  function expectAccepted(answer: Answer): void {
    expect(answer.status, answer.text).to.equal(202);
    expect(answer.text).to.equal('');
    expect(answer.headers.get('cache-control')).to.equal('no-store');
  }

  const byMail = { format: 'email', email: 'ada@example.org' };
  const byPhone = { format: 'phone_number', phone_number: '+12065550100' };
  const elsewhere = { format: 'iss_sub', iss: 'https://other.example', sub: 'object-7' };
  const revoked = { sub_id: about('object-7'), events: { [SESSION_REVOKED]: {} } };

  return {
    get transmitter() {
      return transmitter;
    },
    get mandate() {
      return mandate;
    },
    get agent() {
      return agent;
    },
    post,
    pushed,
    push,
    about,
    event,
    newTask,
    introspect,
    expectAccepted,
    byMail,
    byPhone,
    elsewhere,
    revoked,
  };
}

export type Stream = ReturnType<typeof streamOn>;
