/**
 * What a program of others lives through: the person starts its task and takes a scope away, it asks for that scope again, its
 * token expires and is renewed, an operator ends its task, and the person starts another one.
 */

import { expect } from 'chai';
import type { Mandate, RegisteredAgent } from '../mandate.ts';
import { fieldsOf } from '../mandate.ts';
import type { PersonsAnswer } from './person.ts';
import { endTasks } from './program.ts';
import type { AskPerson, Sdk, SdkClient } from './sdk-clients.ts';
import type { SdkHost } from './sdk-host.ts';
import { warningsOf } from './warnings.ts';

/** Longer than a token of `registerProgram` is valid. Twice that is shorter than its task, and than the life of a client assertion. */
const UNTIL_EXPIRY_SECONDS = 31;

interface Way {
  readonly mandate: Mandate;
  readonly agent: RegisteredAgent;
  readonly endpoint: string;
  readonly sdk: Sdk;
  readonly host: SdkHost;
  /** How the person answers. @returns the query of the answer at the redirect address */
  readonly answer: (address: URL, answer: PersonsAnswer) => Promise<URLSearchParams>;
  /** How records call the client. */
  readonly client: 'key' | 'public' | 'document';
  /** Whether the grant rotates: of a client without a key. */
  readonly rotates: boolean;
}

/** The claims with which a tool of the test's MCP server answers. */
interface Seen {
  readonly agent: string;
  readonly scope: readonly string[];
  readonly task: string;
}

const seenBy = (text: string): Seen => JSON.parse(text);

export async function liveThroughAll(way: Way): Promise<void> {
  await warningsOf(() => liveThrough(way));
}

async function liveThrough(way: Way): Promise<void> {
  const { mandate, agent, endpoint, sdk, host, client: label, rotates } = way;
  let next: PersonsAnswer = { without: ['jira:comment'] };
  const ask: AskPerson = (address) => way.answer(address, next);
  const grant = () => host.stored().tokens?.refresh_token;
  let client: SdkClient | undefined;
  try {
    // 1. The person starts the task, and takes a scope away.
    const started = await mandate.recorded(async () => {
      client = await sdk.connect(endpoint, host, ask);
    });
    if (client === undefined) throw new Error('not connected');
    expect(host.opened).to.have.lengthOf(1);
    expect(host.opened[0]?.searchParams.get('resource')).to.equal(endpoint);
    const first = seenBy(await client.call('read_issue'));
    expect(first).to.deep.include({ agent: `agent:${agent.id}`, scope: ['jira:read'] });
    expect(fieldsOf(started, 'event', 'agent_id', 'scope', 'task_id')).to.deep.equal([
      ['authorization.allowed', agent.id, 'jira:read', first.task],
      ['token.issued', agent.id, 'jira:read', first.task],
      ['task.authorized', agent.id, 'jira:read', first.task],
    ]);
    const [allowed, , authorized] = started.map(({ detail }) => String(detail));
    expect(allowed).to.match(new RegExp(`^request=areq_\\w+&client=${label}$`));
    expect(`${authorized}&client=${label}`).to.equal(allowed);

    // 2. A tool needs the scope that is missing.
    next = {};
    if (sdk.stepsUp) {
      const more = seenBy(await client.call('comment'));
      expect(more.scope).to.have.members(['jira:read', 'jira:comment']);
      expect(more.task).not.to.equal(first.task);
    } else {
      // It refreshes, which adds no scope, and gives up without the person. The host begins anew.
      const refused = await client.callOnce('comment').catch((error: unknown) => error);
      expect(String(refused)).to.include('403 after trying upscoping');
      expect(host.opened).to.have.lengthOf(1);
      host.forgetTokens();
      expect(seenBy(await client.call('comment')).scope).to.have.members(['jira:read', 'jira:comment']);
    }
    expect(host.opened).to.have.lengthOf(2);

    // 3. The token expires. Two requests at once renew it with the same grant.
    const before = grant();
    mandate.clock.advance(UNTIL_EXPIRY_SECONDS);
    const [one, other] = await Promise.all([client.callOnce('comment'), client.callOnce('read_issue')]);
    expect(seenBy(one)).to.deep.equal(seenBy(other));
    expect(host.opened).to.have.lengthOf(2);
    expect(grant() === before).to.equal(!rotates);
    mandate.clock.advance(UNTIL_EXPIRY_SECONDS);
    expect(seenBy(await client.callOnce('read_issue')).task).to.equal(seenBy(one).task);

    // 4. An operator ends the task: the refresh is refused, and the client opens the browser.
    await endTasks(mandate, agent);
    const refused = await mandate.recorded(async () => {
      const error = await client?.callOnce('delete_issue').catch((thrown: unknown) => thrown);
      expect(error).to.be.instanceOf(Error);
    });
    expect(fieldsOf(refused, 'event', 'reason')).to.deep.equal([['token.denied', 'task_revoked']]);
    expect(host.opened).to.have.lengthOf(3);
    expect(grant()).to.equal(undefined);
    const again = seenBy(await client.call('delete_issue'));
    expect(again.task).not.to.equal(seenBy(one).task);
  } finally {
    await client?.close();
  }
}
