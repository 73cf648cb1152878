import { expect } from 'chai';
import { emergencySwitches } from '../../../adapters/outbound/emergency-switches.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { AdminApiFailure, type EmergencySwitches } from '../../../application/ports/admin-api.ts';
import type { SponsorKey } from '../../../domain/identifiers.ts';
import { Secret } from '../../../domain/secret.ts';
import { agentIdOf } from '../../support/domain-fixtures.ts';
import { answering, type Handler, loopbackForSuite } from '../../support/loopback.ts';
import { aRegistrationBody } from '../../support/registrations.ts';
import { thrownBy } from '../../support/thrown-by.ts';

const ADA = 'ada/é?' as SponsorKey;
const KEY = 'x'.repeat(32);
const AGENT = agentIdOf('jira-triage');

const problem = (status: number, more: object = {}): Handler =>
  answering(JSON.stringify({ type: 'about:blank', title: 'Title', status, ...more }), status);
const busy = (more: object = {}) => problem(503, { error: 'temporarily_unavailable', ...more });
const json = (body: object): Handler => answering(JSON.stringify(body));
const agent = (max_token_ttl: string) => ({ ...aRegistrationBody(), jwks_uri: null, enabled: true, max_token_ttl });

describe('The emergency switches over the admin API', () => {
  const server = loopbackForSuite(json({}));
  let pauses: number;
  let switches: EmergencySwitches;
  beforeEach(() => {
    pauses = 0;
    const pause = async () => pauses++;
    const access = { server: server.url, credential: new Secret(KEY), network: httpNetwork(), pause };
    switches = emergencySwitches(access, 'Ärger 100%');
  });
  /** Answers the requests in this order, and then always with the last. */
  const answer = (...all: readonly Handler[]) => {
    const left = [...all];
    server.answer = (request, response) => (left.length > 1 ? left.shift() : left[0])?.(request, response);
  };
  const sentence = async (work: Promise<unknown>) => {
    const thrown = await thrownBy(work);
    expect(thrown).to.be.instanceOf(AdminApiFailure);
    return (thrown as Error).message;
  };

  it('send the path of each target, with the reason percent-encoded', async () => {
    answer(json({ revoked_tasks: 3 }));
    const [sent] = [server.received.length];
    for (const target of [
      { kind: 'agent', agentId: AGENT },
      { kind: 'person', sponsorKey: ADA },
      { kind: 'everything' },
    ] as const) {
      expect(await switches.stop(target)).to.deep.equal({ kind: 'ended', tasks: 3 });
    }
    expect(await switches.block(ADA)).to.deep.equal({ tasks: 3 });
    const received = server.received.slice(sent);
    expect(received.map(({ method, path }) => `${method} ${path}`)).to.deep.equal([
      'DELETE /admin/agents/jira-triage/tasks',
      'DELETE /admin/sponsors/ada%2F%C3%A9%3F/tasks',
      'DELETE /admin/tasks',
      'PUT /admin/sponsors/ada%2F%C3%A9%3F/block',
    ]);
    for (const { headers, body } of received) {
      expect([headers['mandate-reason'], body]).to.deep.equal(['%C3%84rger%20100%25', '']);
    }
  });

  it('repeat the end of everything while it makes progress, and count all tasks', async () => {
    answer(...Array.from({ length: 7 }, () => busy({ revoked_tasks: 5 })), json({ revoked_tasks: 2 }));
    expect(await switches.stop({ kind: 'everything' })).to.deep.equal({ kind: 'ended', tasks: 37 });
    expect(pauses).to.equal(7);
  });

  it('give up after five answers of a busy service', async () => {
    answer(busy());
    expect(await sentence(switches.stop({ kind: 'everything' }))).to.include('too busy for too long');
    expect(pauses).to.equal(4);
  });

  it('say what a lift of a block has brought about', async () => {
    const outcomes: readonly (readonly [string, ...Handler[]])[] = [
      ['lifted', answering('', 204), problem(404)],
      ['refused', answering('', 204), json({ source: 'scim' })],
      ['pending', answering('{"pending":true}', 202)],
      ['not_blocked', problem(404)],
      ['not_owned', problem(409)],
    ];
    for (const [outcome, ...answers] of outcomes) {
      answer(...answers);
      expect(await switches.unblock(ADA)).to.equal(outcome);
    }
  });

  it('say that the block is lifted if the person could not be looked up afterwards', async () => {
    for (const unread of [problem(403), problem(500), answering('<p>A page of a proxy</p>')] as const) {
      answer(answering('', 204), unread);
      expect(await sentence(switches.unblock(ADA))).to.equal(
        "The operator's block is lifted. Whether another source still blocks the person could not be read.",
      );
    }
  });

  it('report no number of tasks that cannot be one', async () => {
    for (const text of ['-5', '1e400', '0.5', '"7"']) {
      answer(answering(`{"revoked_tasks":${text}}`));
      expect(await sentence(switches.stop({ kind: 'everything' })), text).to.equal(
        'The admin API answered with status 200.',
      );
    }
  });

  it('show no answer that repeats the credential', async () => {
    answer(problem(403, { detail: `The token ${KEY} lacks the role.` }));
    expect(await sentence(switches.block(ADA)))
      .to.include('is not from the admin API')
      .and.not.include(KEY);
  });

  it('know an agent or a task that does not exist', async () => {
    answer(problem(404));
    expect(await switches.stop({ kind: 'agent', agentId: AGENT })).to.deep.equal({ kind: 'not_found' });
    expect(await switches.disable(AGENT)).to.equal('not_found');
  });

  it('read the longest life of a token, of one agent or over all pages of agents', async () => {
    answer(json(agent('PT4M')));
    expect(await switches.longestTokenTtl(AGENT)).to.equal(240);
    const pages = [
      { agents: [agent('PT1M'), agent('PT10M')], next_after: 'b' },
      { agents: [agent('PT5M')], next_after: null },
    ];
    answer(...pages.map(json));
    expect(await switches.longestTokenTtl()).to.equal(600);
    expect(server.received.at(-1)?.path).to.equal('/admin/agents?limit=50&after=b');
    answer(json({ agents: [{ newer: 'form' }], next_after: null }));
    expect(await switches.longestTokenTtl()).to.equal(undefined);
  });

  it('read that of all agents for one that may hand work over, because tasks of others end with its own', async () => {
    const page = { agents: [agent('PT4M'), agent('PT9M')], next_after: null };
    answer(json({ ...agent('PT4M'), delegates_to: null }), json(page));
    expect(await switches.longestTokenTtl(AGENT)).to.equal(540);
  });

  it('see whether tasks below those of an agent may end too', async () => {
    const target = { kind: 'agent', agentId: AGENT } as const;
    const tasks = (amount: number) => json({ tasks: Array.from({ length: amount }, () => ({})), next_cursor: null });
    const lead = { ...agent('PT1M'), delegates_to: ['jira-reader'] };
    for (const [amount, registration, mayHaveBelow] of [
      [1, lead, true],
      [1, agent('PT1M'), false],
      [0, lead, false],
    ] as const) {
      answer(tasks(amount), json(registration));
      expect((await switches.look(target)).live).to.deep.equal({ tasks: amount, hasMore: false, mayHaveBelow });
    }
  });

  it('know whether a target has ended tasks, revoked or expired, whose tokens may still work', async () => {
    const person = { kind: 'person', sponsorKey: ADA } as const;
    const none = { tasks: [], next_cursor: null };
    answer(json(none), json(none));
    expect(await switches.hasEndedTasks(person)).to.equal(false);
    const asked = server.received.slice(-2).map(({ path }) => path);
    expect(asked).to.deep.equal(
      ['revoked', 'expired'].map((state) => `/admin/tasks?limit=1&state=${state}&sponsor=${encodeURIComponent(ADA)}`),
    );
    answer(json(none), json({ tasks: [{}], next_cursor: null }));
    expect(await switches.hasEndedTasks({ kind: 'agent', agentId: AGENT })).to.equal(true);
    expect(server.received.at(-1)?.path).to.equal(`/admin/tasks?limit=1&state=expired&agent_id=${AGENT}`);
    answer(json({ newer: 'form' }));
    expect(await switches.hasEndedTasks({ kind: 'everything' })).to.equal(true);
    answer(busy());
    expect(await sentence(switches.hasEndedTasks(person))).to.include('too busy');
  });

  it('do not wait for a busy service to say more about a change that has been made', async () => {
    answer(busy());
    for (const work of [switches.longestTokenTtl(), switches.longestTokenTtl(AGENT)]) {
      expect(await sentence(work)).to.include('too busy');
    }
    answer(answering('', 204), busy());
    expect(await sentence(switches.unblock(ADA))).to.include("The operator's block is lifted.");
    expect(pauses).to.equal(0);
  });

  it('fail with the reason of the service, made visible, and without it if there is none', async () => {
    answer(problem(403, { detail: 'This needs the role responder.\u202e' }));
    expect(await sentence(switches.block(ADA))).to.equal(
      'The service refused: This needs the role responder.\\u{202e}',
    );
    answer(problem(401));
    expect(await sentence(switches.block(ADA))).to.equal('The service does not accept this admin key or access token.');
    answer(problem(500));
    expect(await sentence(switches.disable(AGENT))).to.equal('The admin API answered with status 500.');
    answer(json({}));
    expect(await sentence(switches.block(ADA))).to.equal('The admin API answered with status 200.');
  });
});
