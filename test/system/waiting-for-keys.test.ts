/**
 * Hosts of keys that do not answer. A caller that waits for them holds no permit, and few wait at an endpoint: other requests
 * are served meanwhile. Measured by counts: three permits, and more callers that wait than permits. A request that gets no permit
 * within two seconds is refused.
 */

import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type Answer, fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../support/mandate.ts';
import { OPERATORS } from '../support/operators.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';
import { PUSH_HEADERS, startTransmitter, type Transmitter } from '../support/transmitter.ts';

const THREE_PERMITS = { 'Service:Overload:ConcurrencyLimit': '3', 'Service:Overload:QueueLimit': '200' };

/** Requests that were sent, and the answers so far. */
function flood(sent: readonly Promise<Answer>[]) {
  const answers: Answer[] = [];
  const all = Promise.all(sent.map(async (each) => void answers.push(await each)));
  return {
    answers,
    /** Waits until all but `waiting` are answered. */
    allBut: (waiting: number) => eventually(() => answers.length >= sent.length - waiting),
    async end() {
      await all;
      return answers;
    },
  };
}

function expectLater(answers: readonly Answer[]): void {
  for (const { status, body, headers } of answers) {
    expect([status, body.error ?? body.err, headers.get('retry-after')]).to.deep.equal([
      503,
      'temporarily_unavailable',
      '1',
    ]);
  }
}

for (const database of databasesByLength) {
  describe(`While a host of keys does not answer, on ${database.name}`, function () {
    this.timeout(60_000);
    let provider: IdentityProvider;
    let transmitter: Transmitter;
    let mandate: Mandate;
    /** The host of agents' keys. */
    let keys: Loopback;
    let jira: AskingServer;
    let other: RegisteredAgent;
    let live: string;
    const silent = () => undefined;

    before(async () => {
      provider = await startIdentityProvider();
      transmitter = await startTransmitter(() => mandate.clock.seconds());
      keys = await startLoopback(silent, { tls: true });
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const settings = {
        ...OPERATORS,
        ...THREE_PERMITS,
        ...transmitter.settings,
        ...approvalSettings(jira),
        'Service:Me:ClientId': 'the-page',
        'Service:Me:Audience': 'https://mandate.test/me',
        'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
        'Service:Audit:Aggregation:Enabled': 'false',
      };
      mandate = await startMandate({ database, provider, settings });
      await mandate.untilReady();
      other = await mandate.agent();
      live = await other.grant();
    });
    beforeEach(() => {
      // The host is as if it was never asked.
      keys.received.length = 0;
      keys.answer = silent;
      mandate.clock.advance(31);
    });
    after(async () => {
      await provider.stop();
      await transmitter.stop();
      await keys.close();
      await mandate.stop();
    });

    let paths = 0;
    /** An agent whose keys are at a separate address. */
    const agentAt = async () => {
      paths += 1;
      return mandate.agent({ jwks: undefined, jwks_uri: `${keys.url}/${paths}` });
    };
    /** Answers the requests that the host holds. */
    const answerKeys = async (document: object) => {
      keys.answer = answering(document);
      await keys.close();
      await keys.reopen();
    };

    async function expectOthersServed(subject_token = other.subjectToken()): Promise<void> {
      for (let time = 0; time < 3; time += 1) {
        const issued = await other.exchange({ subject_token });
        expect(issued.status, issued.text).to.equal(200);
        expect((await other.refresh(live)).status).to.equal(200);
        expect((await mandate.introspect(issued)).active).to.equal(true);
        expect((await mandate.admin('DELETE', `/admin/tasks/${issued.body.task_id}`)).status).to.equal(200);
      }
    }

    it('one of twelve strangers who name its agent waits, and the others are told to retry: exchanges, refreshes, revocations', async () => {
      for (const form of [
        (agent: RegisteredAgent) => ['/oauth2/token', agent.exchangeForm()] as const,
        (agent: RegisteredAgent) => ['/oauth2/token', agent.refreshForm('task_grant_invented')] as const,
        (agent: RegisteredAgent) => ['/oauth2/revoke', agent.revokeForm('x')] as const,
      ]) {
        keys.answer = silent;
        const agent = await agentAt();
        const before = keys.received.length;
        const records = await mandate.recorded(async () => {
          const sent = Array.from({ length: 12 }, () => form(agent));
          const strangers = flood(sent.map(([path, body]) => mandate.post(path, body)));
          await strangers.allBut(1);
          await eventually(() => keys.received.length > before);
          await expectOthersServed();
          expect([strangers.answers.length, keys.received.length - before]).to.deep.equal([11, 1]);
          await answerKeys({});
          expectLater(await strangers.end());
        });
        const denied = fieldsOf(
          records.filter(({ decision }) => decision === 'deny'),
          'reason',
          'agent_id',
          'sponsor',
        );
        expect(denied).to.deep.equal(Array(12).fill(['actor_keys_unavailable', null, null]));
      }
    });

    it('a silent host of keys, an agent and a stranger who flood delay no other caller together', async () => {
      let asked = 0;
      provider.answerInstead(() => {
        asked += 1;
      });
      const agents = await Promise.all(Array.from({ length: 5 }, agentAt));
      const flooding = await mandate.agent();
      const { body: task } = await flooding.exchange();
      const question = (nth: number) => jira.request(task.task_id, { digest: digestOf(`question ${nth}`) });
      const unknown = () => provider.mintAccessToken({}, { kid: 'unknown' });
      const records = await mandate.recorded(async () => {
        const agent = flood(Array.from({ length: 20 }, () => flooding.exchange({ subject_token: unknown() })));
        const strangers = flood(
          agents.flatMap((named) => [
            named.exchange({ actor_token: named.assertion({}, { kid: 'unknown' }) }),
            mandate.post('/oauth2/token', named.refreshForm('task_grant_invented')),
          ]),
        );
        const questions = flood(
          Array.from({ length: 20 }, (_, nth) => asks(mandate, task.access_token, question(nth))),
        );
        await strangers.allBut(4);
        await eventually(() => asked > 0);
        await expectOthersServed();
        expect([agent.answers.length, strangers.answers.length]).to.deep.equal([0, 6]);
        const states = (await questions.end()).map(({ status, body }) => body.state ?? status);
        expect(states.sort()).to.deep.equal([...Array(17).fill(429), ...Array(3).fill('pending')]);
        await Promise.all([provider.goDown(), answerKeys({})]);
        expectLater(await agent.end());
        expectLater(await strangers.end());
      });
      const denied = fieldsOf(
        records.filter(({ decision }) => decision === 'deny'),
        'reason',
        'agent_id',
        'sponsor',
      );
      expect(denied.map(([reason]) => String(reason)).sort()).to.deep.equal([
        ...Array(10).fill('actor_keys_unavailable'),
        ...Array(20).fill('subject_keys_unavailable'),
        ...Array(17).fill('too_many_pending'),
      ]);
      // The strangers are not authenticated, and the questions were only counted.
      const named = denied.filter(([, id, sponsor]) => id !== null || sponsor !== null);
      expect(named).to.deep.equal(Array(20).fill(['subject_keys_unavailable', flooding.id, null]));
      provider.answerInstead(undefined);
      await provider.comeBack();
    });

    it('forged tokens hold no permit of the kill switches', async () => {
      provider.answerInstead(silent);
      const iat = mandate.clock.seconds();
      const forged = provider.mintAccessToken({}, { kid: 'unknown' });
      const bearer = { headers: { authorization: `Bearer ${forged}` } };
      transmitter.server.answer = silent;
      const pushed = transmitter.sign({}, { kid: 'unknown' });
      const sent = Array.from({ length: 12 }, () => [
        mandate.send('/admin/agents', bearer),
        mandate.send('/audit', bearer),
        mandate.send('/me/tasks', { method: 'DELETE', ...bearer }),
      ]).flat();
      const fewWait = flood(sent);
      const signals = flood(
        Array.from({ length: 12 }, () => [
          mandate.post('/backchannel-logout', { logout_token: forged }),
          mandate.send('/events', { method: 'POST', headers: PUSH_HEADERS, body: pushed }),
        ]).flat(),
      );
      // One for the provider at each of two endpoints: those of operators, and `/me`.
      await fewWait.allBut(2);
      await expectOthersServed();
      // A token under a known key waits for no answer.
      const logout_token = provider.signLogoutToken({ sub: 'nobody', iat, exp: iat + 600 });
      expect((await mandate.post('/backchannel-logout', { logout_token })).status).to.equal(200);
      expect([fewWait.answers.length, signals.answers.length]).to.deep.equal([sent.length - 2, 0]);
      await Promise.all([provider.goDown(), transmitter.stop()]);
      expectLater(await fewWait.end());
      expectLater(await signals.end());
      provider.answerInstead(undefined);
      await provider.comeBack();
    });

    it('every one of nine logouts under a new kid is accepted, if the provider answers late', async () => {
      await eventually(async () => (await other.exchange()).status === 200);
      mandate.clock.advance(31);
      const known = other.subjectToken();
      await provider.rotateKeys({ keepFormer: true });
      const held: (() => void)[] = [];
      provider.answerInstead((request, response) => void held.push(() => void forward(request.url ?? '', response)));
      const iat = mandate.clock.seconds();
      const logouts = flood(
        Array.from({ length: 9 }, (_, nth) =>
          mandate.post('/backchannel-logout', {
            logout_token: provider.signLogoutToken({ sub: `nobody-${nth}`, iat, exp: iat + 600 }),
          }),
        ),
      );
      await eventually(() => held.length > 0);
      await expectOthersServed(known);
      expect(logouts.answers.length).to.equal(0);
      provider.answerInstead(undefined);
      for (const answer of held) answer();
      for (const { status, text } of await logouts.end()) expect(status, text).to.equal(200);
    });

    /** Answers as the provider would. */
    async function forward(path: string, response: ServerResponse): Promise<void> {
      const answer = await fetch(`${provider.issuer}${path}`);
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text());
    }

    it('no caller waits for thirty seconds after a fetch that took too long, and a fetch in the background ends that', async () => {
      const agent = await agentAt();
      const first = await agent.exchange();
      expectLater([first]);
      const sent = Array.from({ length: 6 }, async () => {
        mandate.clock.advance(1);
        const began = performance.now();
        const answer = await agent.exchange();
        return { answer, waited: performance.now() - began };
      });
      for (const { answer, waited } of await Promise.all(sent)) {
        expectLater([answer]);
        expect(waited, 'milliseconds').to.be.below(4000);
      }
      expect(keys.received.length, 'the second fetch is under way').to.equal(2);
      const [said = '{}'] = mandate.log.lines.filter((line) => line.includes(agent.id) && line.includes('no new keys'));
      expect(JSON.parse(said)).to.include({ level: 'warn', owner: 'agent', host: new URL(keys.url).host });
      await answerKeys(agent.key.jwks);
      await eventually(async () => {
        mandate.clock.advance(1);
        return (await agent.exchange()).status === 200;
      });
    });
  });
}
