/** `mandate after-restore` on a database that really went back in time (docs/operating.md). */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { answerRequest } from '../../application/decisions/answer-request.ts';
import { aCode } from '../contract/authorization-fixtures.ts';
import { allowedRequest, keptRequest } from '../support/authorize/allowed-request.ts';
import { backup } from '../support/backup.ts';
import { runMandate } from '../support/cli-run.ts';
import { databasesByLength, type FreshDatabase } from '../support/databases.ts';
import { fieldsOf, JIRA, type LedgerLine, type Mandate, startMandate } from '../support/mandate.ts';
import { movedClock } from '../support/moved-clock.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import {
  type AskingServer,
  approvalSettings,
  askingServer,
  asks,
  digestOf,
} from '../support/tool-server/approval-request.ts';
import { DOOR, publicAgent, token } from './authorize/clients.ts';

for (const database of databasesByLength) {
  describe(`mandate after-restore on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let start: () => Promise<Mandate>;
    let fresh: FreshDatabase;
    let directory: string;
    let jira: AskingServer;
    before(async () => {
      directory = mkdtempSync(join(tmpdir(), 'mandate-restore-'));
      // The command has the clock of this machine.
      const clock = movedClock();
      fresh = await database.fresh();
      const kept = { ...fresh, drop: async () => undefined };
      jira = await askingServer(JIRA, { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() });
      const settings = {
        ...sharedSigningKey(),
        ...DOOR,
        ...approvalSettings(jira),
      };
      start = () =>
        startMandate({ database: { ...database, fresh: async () => kept }, settings, clock, databaseClock: clock });
      mandate = await start();
    });
    after(async () => {
      await mandate.stop();
      await fresh.drop();
      rmSync(directory, { recursive: true, force: true });
    });

    /** The service's clock is moved, the command's is not: the newest record need not be the last. */
    const highest = (lines: readonly LedgerLine[]) => Math.max(...lines.map(({ seq }) => seq));
    const run = (...more: readonly string[]) => runMandate(['after-restore', ...more], fresh.settings);

    it('refuses assertions that the lost part had spent, accepts later ones, and moves the sequence forward', async () => {
      const agent = await mandate.agent();
      const seconds = () => Math.floor(mandate.clock.now() / 1_000_000);
      await mandate.stop();
      const restore = await backup(fresh);
      mandate = await start();
      const last = highest(await mandate.ledger());
      const without = agent.assertion({ iat: undefined, exp: seconds() + 300 });
      const spent = agent.assertion();
      const exchange = (actor_token: string) => mandate.post('/oauth2/token', agent.exchangeForm({ actor_token }));
      for (const actor_token of [spent, without]) expect((await exchange(actor_token)).status).to.equal(200);
      await mandate.stop();
      await restore();
      mandate = await start();

      const { code, out, err } = await run('--above', '5000000');
      expect({ code, err }).to.deep.equal({ code: 0, err: '' });
      expect(out).to.include(`The last number in the ledger was ${last}.`);
      const [record] = (await mandate.ledger()).slice(-1);
      expect(record).to.deep.include({
        seq: 6_000_001,
        event: 'database.restored',
        decision: 'allow',
        reason: null,
        detail: JSON.stringify({ from: last, to: 6_000_000 }),
      });

      for (const actor_token of [spent, without, agent.assertion()]) {
        const lines = await mandate.recorded(async () => {
          const { status, body } = await exchange(actor_token);
          expect([status, body.error]).to.deep.equal([401, 'invalid_client']);
        });
        expect(lines.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.denied', 'actor_replayed']]);
      }
      mandate.clock.advance(70);
      expect((await exchange(agent.assertion())).status).to.equal(200);
      const lines = await mandate.recorded(() => exchange(spent));
      expect(lines.map(({ reason }) => reason)).to.deep.equal(['actor_replayed']);
    });

    it('lets no yes be used that may have been used since the backup, and the person is asked again', async () => {
      const { access_token: token, task_id: taskId } = (await (await mandate.agent()).exchange()).body;
      const ask = async (what: string) =>
        (await asks(mandate, token, jira.request(taskId, { digest: digestOf(what) }))).body;
      const [used, waiting] = [await ask('used'), await ask('waiting')];
      expect(await mandate.answer(String(used.approval_id), 'approve')).to.equal('granted');
      await mandate.stop();
      const restore = await backup(fresh);
      mandate = await start();
      expect((await ask('used')).state).to.equal('granted');
      await mandate.stop();
      await restore();
      mandate = await start();

      const { code, out } = await run();
      expect(code).to.equal(0);
      expect(out).to.include('Approvals that were granted and not used are over: the people are asked again.');
      const lines = await mandate.recorded(async () => {
        await mandate.jobs.sweep();
        const again = await ask('used');
        expect(again.state).to.equal('pending');
        expect(again.approval_id).not.to.equal(used.approval_id);
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
        ['approval.expired', 'approval_unused'],
        ['approval.requested', null],
      ]);
      expect((await ask('waiting')).approval_id, 'it still waits').to.equal(waiting.approval_id);
    });

    it('lets no code be redeemed that may have been redeemed since the backup, and no request be answered', async () => {
      const editor = await publicAgent(mandate);
      const [allowed, waiting] = [await allowedRequest(mandate, editor.id), await keptRequest(mandate, editor.id)];
      await mandate.stop();
      const restore = await backup(fresh);
      mandate = await start();
      expect((await token(mandate, allowed.form())).status).to.equal(200);
      await mandate.stop();
      await restore();
      mandate = await start();

      const { code, out } = await run();
      expect(code).to.equal(0);
      expect(out).to.include('Requests at /oauth2/authorize, and codes that were not redeemed, are void');
      const lines = await mandate.recorded(async () => {
        const answer = await token(mandate, allowed.form());
        expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
        const { authorization: request } = waiting;
        const verdict = await mandate.storage.decide(answerRequest, {
          request,
          browserHash: request.browserHash,
          client: request.client,
          answer: { kind: 'allow', code: { ...aCode(), scope: request.offered } },
          agentRevision: 1,
          at: mandate.clock.now(),
          latest: mandate.clock.now(),
        });
        expect(verdict).to.deep.equal({ kind: 'ended', reason: 'database_restored' });
      });
      const ended = (of: string) => `request=${of}&ended=database_restored`;
      expect(fieldsOf(lines, 'event', 'reason', 'agent_id', 'sponsor', 'detail')).to.deep.equal([
        ['token.denied', 'code_expired', editor.id, 'ada', ended(allowed.requestId)],
        ['authorization.denied', 'request_expired', editor.id, 'ada', ended(waiting.authorization.requestId)],
      ]);
    });

    it('can run again, and refuses numbers beyond the safe integers', async () => {
      const before = highest(await mandate.ledger());
      expect((await run()).code).to.equal(0);
      const after = await mandate.ledger();
      expect(highest(after)).to.equal(before + 1_000_001);
      for (const [above, code, sentence] of [
        ['9007199254740991', 1, 'nothing was changed'],
        // Far above the ledger, although a million further is still a safe integer: it would use up the numbers.
        ['9007199253740990', 1, 'nothing was changed'],
        ['9007199254740992', 2, 'beyond 2^53 - 1'],
        ['-1', 2, '--above'],
      ] as const) {
        const refused = await run(`--above=${above}`);
        expect(refused.code).to.equal(code);
        expect(refused.err).to.include(sentence);
      }
      expect(await mandate.ledger()).to.deep.equal(after);
    });

    it('lists the records that the sink has and the database lacks, and refuses a file that is no list of records', async () => {
      const known = await mandate.ledger();
      const { checkpoint: _, ...same } = known[0] as Record<string, unknown>;
      const lost = { ...same, agent_id: null, scope: null };
      const file = join(directory, 'sink.jsonl');
      const write = (...lines: readonly unknown[]) =>
        writeFileSync(file, lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'));
      write(
        { records: [known[0], { ...known[1], sponsor: 'other' }] },
        { ...lost, seq: 899_999_998, event: 'delegation.refused', agent_id: 'planner', sponsor: 'ada l' },
        { ...lost, seq: 899_999_999, event: 'delegation.allowed', agent_id: 'planner', sponsor: 'grace' },
        { ...lost, checkpoint: null, seq: 900_000_001, event: 'sponsor.blocked', sponsor: 'a/b\u202e' },
        { ...lost, checkpoint: null, seq: 900_000_002, event: 'task.revoked', task_id: 'task_x' },
        { ...lost, checkpoint: null, seq: 900_000_003, event: 'token.revoked', task_id: 'task_y' },
      );
      const { code, out, err } = await run('--sink', file);
      expect({ code, err }).to.deep.equal({ code: 0, err: '' });
      expect(out).to.include('The sink has 6 records that the database does not have.');
      expect(out).to.include(`Number ${known[1]?.seq} has another record in the database than in the sink.`);
      expect(out).to.include(
        '899999998 delegation.refused: PUT /me/agents/planner/no-delegation, which only the person ada%20l can send',
      );
      expect(out).to.include(
        '899999999 delegation.allowed: DELETE /me/agents/planner/no-delegation, which only the person',
      );
      expect(out).to.include('900000001 sponsor.blocked: PUT /admin/sponsors/a%2Fb%E2%80%AE/block');
      expect(out).to.include('900000002 task.revoked: DELETE /admin/tasks/task_x');
      expect(out).to.include('900000003 token.revoked: DELETE /admin/tasks/task_y, which');
      const after = await mandate.ledger();
      expect(highest(after)).to.equal(901_000_004);

      for (const [line, problem] of [
        ['{', 'is no JSON'],
        ['[]', 'is no JSON object'],
        ['{"records":{}}', 'has records that are no list'],
        ['{"seq":0,"event":"x","ts":"y"}', 'is no record of the ledger'],
        [`"${'x'.repeat(4_194_304)}"`, 'is longer than 4194304 bytes'],
      ] as const) {
        write(known[0], line);
        const refused = await run('--sink', file);
        expect(refused.code).to.equal(1);
        expect(refused.err).to.include(`--sink: line 2`).and.include(problem);
      }
      expect((await run('--sink', join(directory, 'none'))).err).to.include('cannot be read');
      expect(await mandate.ledger()).to.deep.equal(after);
    });
  });
}
