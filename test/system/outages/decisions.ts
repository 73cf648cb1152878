/** Requests that use the database, one of each kind of statements, and what each needs before. */

import { randomUUID } from 'node:crypto';
import { type Answer, aRegistration, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { patch, scimClient, USER_SCHEMA } from '../../support/scim-client.ts';

export interface Fixture {
  readonly mandate: Mandate;
  /** An agent that no test changes. */
  readonly agent: RegisteredAgent;
}

/** Sends the request. Each call uses new single-use values, such as assertions. */
export type Ask = () => Promise<Answer>;

export interface Decision {
  readonly name: string;
  /** The status if nothing fails. */
  readonly status: number;
  /** The events and reasons of the request's records, in order. */
  readonly records: readonly string[];
  /** The surface, if its 503 answers have no member `error`. */
  readonly surface?: 'scim';
  /** Its first statement is a plain read. If it fails, the decision reads again. */
  readonly outlivesFirst?: true;
  readonly about: (fixture: Fixture) => Promise<Ask>;
}

const KILLED = 'operator_kill_switch';

function decision(
  name: string,
  status: number,
  records: readonly string[],
  about: Decision['about'],
  traits: Pick<Decision, 'surface' | 'outlivesFirst'> = {},
): Decision {
  return { name, status, records, about, ...traits };
}

export const decisions: readonly Decision[] = [
  decision('an exchange', 200, ['token.issued'], async (fixture) => exchangeFor(fixture, aPerson())),
  decision('an exchange that is refused', 400, ['token.denied audience_not_allowed'], async (fixture) =>
    exchangeFor(fixture, aPerson(), { resource: 'https://nobody.example' }),
  ),
  decision('the first renewal', 200, ['token.refreshed'], async (fixture) => renewalOf(fixture, await issued(fixture))),
  decision('a renewal that is refused', 400, ['token.denied scope_widened'], async (fixture) =>
    renewalOf(fixture, await issued(fixture), { scope: 'jira:admin' }),
  ),
  decision('the revocation of a grant', 200, ['task.revoked client_revoked'], async (fixture) =>
    revocationOf(fixture, String((await issued(fixture)).body.refresh_token)),
  ),
  decision('an introspection', 200, [], async (fixture) => {
    const token = String((await issued(fixture)).body.access_token);
    return () => fixture.mandate.post('/oauth2/introspect', { token });
  }),
  decision('a registration', 201, ['agent.registered'], async ({ mandate, agent }) => {
    const id = `agent-${randomUUID()}`;
    return () => mandate.admin('POST', '/admin/agents', aRegistration({ agent_id: id, jwks: agent.key.jwks }));
  }),
  decision(
    'the kill switch of a task',
    200,
    [`task.revoked ${KILLED}`],
    async (fixture) => {
      const { task_id: id } = (await issued(fixture)).body;
      return () => fixture.mandate.admin('DELETE', `/admin/tasks/${id}`);
    },
    { outlivesFirst: true },
  ),
  decision('a block', 200, ['sponsor.blocked sponsor_blocked', 'task.revoked sponsor_blocked'], async (fixture) => {
    const sub = await busyPerson(fixture);
    return () => fixture.mandate.admin('PUT', `/admin/sponsors/${sub}/block`);
  }),
  decision(
    'a page of the ledger',
    200,
    [],
    async ({ mandate }) =>
      () =>
        mandate.admin('GET', '/audit?limit=3'),
  ),
  decision('a logout', 200, ['sponsor.signal sponsor_logged_out', 'task.revoked sponsor_logged_out'], async (fixture) =>
    logoutOf(fixture, await busyPerson(fixture)),
  ),
  decision(
    'a SCIM deactivation',
    200,
    ['sponsor.signal scim_deactivated', 'task.revoked scim_deactivated'],
    async (fixture) => {
      const sub = await busyPerson(fixture);
      const { id } = (await scim(fixture, 'POST', '/Users', aUser(sub, true))).body;
      return () => scim(fixture, 'PATCH', `/Users/${id}`, patch({ active: false }));
    },
    { surface: 'scim' },
  ),
];

const aPerson = () => `sub-${randomUUID()}`;

function exchangeFor({ agent }: Fixture, sub: string, changes = {}): Ask {
  return () => agent.exchangeFor({ sub }, changes);
}

async function issued(fixture: Fixture, sub = aPerson()): Promise<Answer> {
  const answer = await exchangeFor(fixture, sub)();
  if (answer.status !== 200) throw new Error(`an exchange was answered ${answer.status}: ${answer.text}`);
  return answer;
}

/** Starts a task for a new person. Resolves with the `sub`. */
async function busyPerson(fixture: Fixture): Promise<string> {
  const sub = aPerson();
  await issued(fixture, sub);
  return sub;
}

function renewalOf({ agent }: Fixture, { body }: Answer, changes = {}): Ask {
  return () => agent.refresh(String(body.refresh_token), changes);
}

function revocationOf({ agent }: Fixture, token: string): Ask {
  return () => agent.revoke(token);
}

function logoutOf({ mandate: { provider, clock, post } }: Fixture, sub: string): Ask {
  const jti = randomUUID();
  return () =>
    post('/backchannel-logout', { logout_token: provider.signLogoutToken({ jti, sub, iat: clock.seconds() }) });
}

function aUser(sub: string, active: boolean): object {
  return { schemas: [USER_SCHEMA], userName: `${sub}@example.org`, externalId: sub, active };
}

function scim({ mandate }: Fixture, method: string, path: string, body?: unknown): Promise<Answer> {
  return scimClient(mandate).send(method, path, body);
}

/** They end access, so each is decided again on another connection if the server has none left (53300). */
export const SWITCHES: ReadonlySet<string> = new Set([
  'the kill switch of a task',
  'a block',
  'a logout',
  'a SCIM deactivation',
]);
