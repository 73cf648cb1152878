/** Two instances of a service with every source of blocks. */

import { randomUUID } from 'node:crypto';
import type { TestDatabase } from '../../support/databases.ts';
import {
  type Answer,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../../support/mandate.ts';
import { scimClient, scimSettings } from '../../support/scim-client.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { PUSH_HEADERS, startTransmitter, type Transmitter } from '../../support/transmitter.ts';

const RISC = 'https://schemas.openid.net/secevent/risc/event-type/';

export const HOUR = 3600;

export type Source = 'admin' | 'scim' | 'ssf';

export const DENIALS = { disabled: 'sponsor_disabled', deleted: 'sponsor_not_found' } as const;

export const PLACED = {
  admin: 'sponsor.blocked allow sponsor_blocked',
  scim: 'sponsor.signal allow scim_deactivated',
  ssf: 'sponsor.signal allow ssf_account_purged',
} as const;

export const LIFTED = {
  admin: 'sponsor.unblocked allow operator_unblocked',
  scim: 'sponsor.signal allow scim_reactivated',
  ssf: 'sponsor.signal allow ssf_account_enabled',
} as const;

export const inBrief = ({ event, decision, reason }: LedgerLine) => `${event} ${decision} ${reason}`;

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function sourcesOn(database: TestDatabase) {
  let transmitter: Transmitter;
  let mandate: Mandate;
  let replica: Mandate;
  let agent: RegisteredAgent;

  before(async () => {
    transmitter = await startTransmitter(() => mandate.clock.seconds());
    const settings = { ...sharedSigningKey(), ...scimSettings, ...transmitter.settings };
    mandate = await startMandate({ database, settings });
    replica = await mandate.another({});
    agent = await mandate.agent();
  });

  after(async () => {
    await replica.stop();
    await mandate.stop();
    await transmitter.stop();
  });

  const exchange = (sub: string, at: Mandate = mandate) =>
    at.post('/oauth2/token', agent.exchangeForm({ subject_token: agent.subjectToken({ sub }) }));

  const isActive = async (issued: Answer) => (await replica.introspect(issued)).active;
  const shown = (sub: string, at: Mandate = mandate) => at.admin('GET', `/admin/sponsors/${sub}`);

  /** The requests of each source about one person. The first SCIM write creates the user. */
  function aPerson() {
    const sub = randomUUID();
    let user: string | undefined;
    const operator = (method: 'PUT' | 'DELETE', at: Mandate) => at.admin(method, `/admin/sponsors/${sub}/block`);
    const provision = async (active: boolean, at: Mandate) => {
      if (user !== undefined) {
        const Operations = [{ op: 'replace', path: 'active', value: active }];
        return scimClient(at).send('PATCH', `/Users/${user}`, { Operations });
      }
      const answer = await scimClient(at).send('POST', '/Users', { userName: sub, externalId: sub, active });
      user = String(answer.body.id);
      return answer;
    };
    const remove = async (at: Mandate) => {
      const answer = await scimClient(at).send('DELETE', `/Users/${user}`);
      user = undefined;
      return answer;
    };
    const signal = async (name: string, at: Mandate, claims: Readonly<Record<string, unknown>> = {}) => {
      const body = transmitter.event(RISC + name, sub, claims);
      const { status, text } = await at.send('/events', { method: 'POST', headers: PUSH_HEADERS, body });
      return { status, text };
    };
    const place = {
      admin: () => operator('PUT', mandate),
      scim: () => provision(false, mandate),
      ssf: () => signal('account-purged', mandate),
    };
    const lift = {
      admin: () => operator('DELETE', replica),
      scim: () => provision(true, replica),
      ssf: () => signal('account-enabled', replica),
    };
    return { sub, operator, provision, remove, signal, place, lift, hasUser: () => user !== undefined };
  }

  return {
    get mandate() {
      return mandate;
    },
    get replica() {
      return replica;
    },
    exchange,
    isActive,
    shown,
    aPerson,
  };
}

export type Sources = ReturnType<typeof sourcesOn>;
