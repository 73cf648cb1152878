/** Approvals of single actions (`POST /oauth2/approval`): what a tool server asks, gets and may not ask. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { databases } from '../support/databases.ts';
import {
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
  withService,
} from '../support/mandate.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';

const SENTENCE = 'The approval request is not acceptable.';

for (const database of databases) {
  describe(`Approvals on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let jira: AskingServer;
    let wiki: AskingServer;
    const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
    before(async () => {
      [jira, wiki] = await Promise.all([askingServer(JIRA, clock), askingServer(WIKI, clock)]);
      mandate = await startMandate({
        database,
        settings: {
          'Service:Me:ClientId': 'the-page',
          ...approvalSettings(jira, wiki),
          // Shorter than the lives of tokens.
          'Service:Approvals:Lifetime': 'PT2M',
          'Service:Approvals:Spend': 'PT1M',
          'Service:Approvals:RefusedFor': 'PT1M',
          'Service:Audit:Aggregation:Enabled': 'false',
        },
      });
      mandate.clock.standStill();
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    /** A task of a new person. */
    async function started(sub = `ada-${Math.random()}`, by = agent) {
      const { access_token: token, task_id: taskId, refresh_token: grant } = (await by.exchangeFor({ sub })).body;
      const ask = async (claims?: object, header?: object) =>
        (await asks(mandate, token, jira.request(taskId, claims, header))).body;
      return { token, taskId, grant, sub, ask };
    }
    const recordsOf = (lines: Awaited<ReturnType<Mandate['recorded']>>) =>
      fieldsOf(lines, 'event', 'decision', 'reason');

    it('waits for the person, goes through exactly once, and asks anew ten seconds later', async () => {
      const { ask, sub, taskId } = await started();
      const lines = await mandate.recorded(async () => {
        const pending = await ask();
        const id = String(pending.approval_id);
        expect(pending).to.deep.equal({
          state: 'pending',
          approval_id: id,
          approval_uri: `${mandate.issuer}/me/approvals/${id}`,
          expires_in: 120,
          interval: 5,
        });
        const { expires_in: left, ...poll } = await ask({ title: 'Other words' });
        expect({ ...poll, expires_in: 120 }, 'asking again is the poll').to.deep.equal(pending);
        expect(left).to.be.within(119, 120);
        const answer = await mandate.answer(id, 'approve');
        expect(answer).to.equal('granted');
        const approvedAt = new Date(mandate.clock.seconds() * 1000);
        const granted = await ask();
        expect(granted).to.deep.include({ state: 'granted', approval_id: id });
        expect(Date.parse(String(granted.approved_at)) - approvedAt.getTime()).to.be.within(0, 999);
        expect(await ask()).to.deep.equal({ state: 'spent' });
        mandate.clock.advance(9);
        expect(await ask()).to.deep.equal({ state: 'spent' });
        mandate.clock.advance(1);
        const again = await ask();
        expect(again.state).to.equal('pending');
        expect(again.approval_id).not.to.equal(id);
      });
      expect(recordsOf(lines)).to.deep.equal([
        ['approval.requested', 'allow', null],
        ['approval.granted', 'allow', null],
        ['approval.used', 'allow', null],
        ['approval.requested', 'allow', null],
      ]);
      for (const line of lines) {
        expect(line).to.include({ task_id: taskId, agent_id: agent.id, sponsor: sub, audience: JIRA, scope: null });
        const detail = new URLSearchParams(String(line.detail));
        expect([...detail.keys()]).to.deep.equal(['approval', 'digest', 'commitment']);
        expect(detail.get('digest')).to.equal(digestOf('delete 7'));
      }
      expect(lines[0]?.detail).to.equal(lines[2]?.detail);
    });

    it('commits to the words that the person reads, which are those of the first request', async () => {
      const { ask, taskId } = await started();
      const lines = [{ label: 'To', value: '<b>grace</b> \u202E' }];
      const { approval_id: id } = await ask({ title: 'Pay “é”', lines });
      await ask({ title: 'Pay a friend', lines: [] });
      const shown = await mandate.approval(String(id));
      expect(shown).to.deep.include({ title: 'Pay “é”', lines, digest: digestOf('delete 7') });
      const text = JSON.stringify({
        digest: shown.digest,
        lines,
        salt: shown.salt,
        task_id: taskId,
        title: shown.title,
      })
        // The canonical form of the ledger escapes these.
        .replace(/[<>]|[^ -~]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`);
      expect(shown.commitment).to.equal(createHash('sha256').update(text).digest('hex'));
      expect(await mandate.answer(String(id), 'approve', { commitment: '0'.repeat(64) })).to.equal('other_words');
      expect((await ask()).state).to.equal('pending');
    });

    it('is refused for as long as a no lasts, and then asks again', async () => {
      const { ask, token } = await started();
      const { approval_id: id } = await ask();
      const lines = await mandate.recorded(() => mandate.answer(String(id), 'refuse'));
      expect(recordsOf(lines)).to.deep.equal([['approval.refused', 'deny', 'approval_refused']]);
      expect(await ask()).to.deep.equal({ state: 'refused' });
      expect(await mandate.answer(String(id), 'approve')).to.equal('not_waiting');
      expect((await mandate.introspect(String(token))).active, 'the task goes on').to.equal(true);
      expect((await ask({ digest: digestOf('delete 8') })).state, 'another action').to.equal('pending');
      mandate.clock.advance(59);
      expect(await ask()).to.deep.equal({ state: 'refused' });
      mandate.clock.advance(2);
      expect((await ask()).state).to.equal('pending');
    });

    it('ends if the agent does not use the yes in time', async () => {
      const { ask } = await started();
      const { approval_id: id } = await ask();
      mandate.clock.advance(119);
      expect(await mandate.answer(String(id), 'approve')).to.equal('granted');
      mandate.clock.advance(57);
      await mandate.jobs.sweep();
      expect((await mandate.approval(String(id))).state).to.equal('granted');
      const lines = await mandate.recorded(async () => {
        mandate.clock.advance(6);
        await mandate.jobs.sweep();
      });
      const expired = lines.filter(({ detail }) => String(detail).includes(String(id)));
      expect(recordsOf(expired)).to.deep.equal([['approval.expired', 'allow', 'approval_unused']]);
      expect((await ask()).state).to.equal('pending');
    });

    it('that the person does not answer in time is over, and the next request asks anew, before any sweep', async () => {
      const { ask } = await started();
      const { approval_id: id } = await ask();
      mandate.clock.advance(121);
      expect(await mandate.answer(String(id), 'approve')).to.equal('not_waiting');
      const lines = await mandate.recorded(async () => {
        const again = await ask();
        expect(again.state).to.equal('pending');
        expect(again.approval_id).not.to.equal(id);
      });
      expect(recordsOf(lines)).to.deep.equal([
        ['approval.expired', 'allow', 'approval_unanswered'],
        ['approval.requested', 'allow', null],
      ]);
    });

    it('are inactive while the agent is disabled: nothing is withdrawn, a yes is refused, a no is not', async () => {
      const own = await mandate.agent();
      const { access_token: token, task_id: taskId } = (await own.exchange()).body;
      const ask = async (claims?: object) => (await asks(mandate, token, jira.request(taskId, claims))).body;
      const { approval_id: one } = await ask();
      const { approval_id: other } = await ask({ digest: digestOf('delete 8') });
      await mandate.admin('PATCH', `/admin/agents/${own.id}`, { enabled: false });
      expect(await ask()).to.deep.equal({ state: 'inactive' });
      expect(await mandate.answer(String(one), 'approve')).to.equal('not_waiting');
      expect(await mandate.answer(String(other), 'refuse')).to.equal('refused');
      await mandate.admin('PATCH', `/admin/agents/${own.id}`, { enabled: true });
      expect((await ask()).approval_id).to.equal(one);
    });

    it('answer inactive for anything that is not an active task token, and record nothing', async () => {
      const { token, taskId, grant } = await started();
      const request = jira.request(taskId);
      const lines = await mandate.recorded(async () => {
        for (const other of ['x', 'a.b.c', grant, mandate.provider.mintAccessToken()]) {
          expect((await asks(mandate, other, request)).body).to.deep.equal({ state: 'inactive' });
        }
      });
      expect(lines).to.deep.equal([]);
      await agent.revoke(String(token));
      expect((await asks(mandate, token, request)).body).to.deep.equal({ state: 'inactive' });
    });

    it('refuse every wrong request with one sentence, and record why', async () => {
      const { token, taskId } = await started();
      const other = await started();
      const now = mandate.clock.seconds();
      const used = jira.request(taskId);
      expect((await asks(mandate, token, used)).status).to.equal(200);
      const stranger = await askingServer(JIRA, clock);
      const nobody = await askingServer('https://nobody.example', clock);
      const cases: readonly (readonly [reason: string, request: string])[] = [
        ['approval_request_malformed', 'x'],
        ['approval_request_malformed', jira.request(taskId, {}, { typ: 'JWT' })],
        ['approval_request_malformed', jira.request(taskId, { more: 'm'.repeat(8192) })],
        ['approval_issuer_unknown', nobody.request(taskId)],
        // The agent signs with its own key, in the tool server's name and in its own.
        ['approval_signature_invalid', stranger.request(taskId)],
        ['approval_signature_invalid', stranger.request(taskId, {}, { kid: jira.key.kid })],
        ['approval_request_expired', jira.request(taskId, { iat: now - 120, exp: now - 60 })],
        ['approval_not_for_task', jira.request(other.taskId)],
        ['approval_not_for_task', wiki.request(taskId)],
        ['approval_replayed', used],
      ];
      const named = ['approval_request_expired', 'approval_not_for_task', 'approval_replayed'];
      for (const [reason, request] of cases) {
        const lines = await mandate.recorded(async () => {
          const answer = await asks(mandate, token, request);
          expect(answer.status, reason).to.equal(400);
          expect(answer.body).to.deep.equal({ error: 'invalid_request', error_description: SENTENCE });
          expect(answer.headers.get('cache-control')).to.equal('no-store');
        });
        expect(lines, reason).to.have.lengthOf(1);
        const isNamed = named.includes(reason);
        expect(lines[0], request).to.include({
          event: 'token.denied',
          decision: 'deny',
          reason,
          task_id: isNamed ? taskId : null,
          agent_id: isNamed ? agent.id : null,
          audience: isNamed ? JIRA : null,
        });
      }
    });

    it('use the ordinary words for a missing or doubled parameter, and another method', async () => {
      const { token, taskId } = await started();
      const form = { token: String(token), request: jira.request(taskId) };
      const missing = await mandate.post('/oauth2/approval', { token: form.token });
      expect(missing.body).to.include({ error_description: 'The parameter request is missing.' });
      const doubled = await mandate.send('/oauth2/approval', {
        method: 'POST',
        body: `token=${form.token}&request=a&request=b`,
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect(doubled.body).to.include({ error_description: 'The parameter request is repeated.' });
      expect((await mandate.get('/oauth2/approval')).status).to.equal(405);
    });

    it('of one task wait three at a time, those of a person twenty; a further one is 429 and recorded', async () => {
      const { ask, token, taskId, sub } = await started();
      for (const nth of [1, 2, 3]) expect((await ask({ digest: digestOf(`a ${nth}`) })).state).to.equal('pending');
      const lines = await mandate.recorded(async () => {
        const answer = await asks(mandate, token, jira.request(taskId, { digest: digestOf('a 4') }));
        expect([answer.status, answer.headers.get('retry-after')]).to.deep.equal([429, '5']);
        expect(answer.body).to.include({ error: 'slow_down' });
      });
      expect(fieldsOf(lines, 'event', 'reason', 'task_id')).to.deep.equal([['token.denied', 'too_many_pending', null]]);
      expect((await ask({ digest: digestOf('a 3') })).state, 'asking again is no new one').to.equal('pending');
      for (let task = 0; task < 6; task += 1) {
        // Each agent may hold six places.
        const next = await started(sub, await mandate.agent());
        const states = [];
        for (const nth of [1, 2, 3]) states.push((await next.ask({ digest: digestOf(`b ${nth}`) })).state);
        expect(states.filter((state) => state === 'pending')).to.have.lengthOf(task < 5 ? 3 : 2);
      }
    });
  });
}

describe('Approvals', () => {
  it('are unknown without the setting: no path, no member of the metadata, no check', async () => {
    const [database] = databases;
    if (database === undefined) throw new Error('no database');
    await withService(startMandate({ database }), async (mandate) => {
      const issued = await (await mandate.agent()).exchange();
      const answer = await asks(mandate, issued.body.access_token, 'x');
      const unknown = await mandate.post('/oauth2/unknown', {});
      expect([answer.status, answer.text]).to.deep.equal([404, unknown.text]);
      expect(decodeJwt(String(issued.body.access_token))).not.to.have.property('approval');
      const ready = await mandate.untilReady({ accept: 'application/json' });
      expect(ready.body.checks).not.to.have.property('approval_keys');
    });
  });
});
