/**
 * The owner of the database writes or changes the row of a person's answer. Its code opens a task only if the ledger has that
 * answer, for that person, agent, audience and scope, and no task came from it before.
 */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { judgeBeside } from '../../../application/doctor/ledger.ts';
import { doctorSettings } from '../../../composition/doctor/settings.ts';
import { openCondition } from '../../../composition/doctor/sources.ts';
import { type AllowedRequest, allowedRequest, keptRequest } from '../../support/authorize/allowed-request.ts';
import { databasesByLength, type FreshDatabase } from '../../support/databases.ts';
import {
  environmentOf,
  fieldsOf,
  type Mandate,
  type RegisteredAgent,
  WIKI,
  withService,
} from '../../support/mandate.ts';
import { keyAgent, keyOf, publicAgent, startDoor, token } from './clients.ts';

const SENTENCE = 'The code cannot be redeemed: the stored answer of the person differs from its record.';
const TASK = 'task_01JZZZZZZZZZZZZZZZZZZZZZZZ';

for (const database of databasesByLength) {
  describe(`A person's answer whose row was changed, on ${database.name}`, () => {
    let mandate: Mandate;
    let fresh: FreshDatabase;
    let editor: RegisteredAgent;
    let other: RegisteredAgent;
    before(async () => {
      fresh = await database.fresh();
      mandate = await startDoor({ ...database, fresh: async () => fresh });
      [editor, other] = [await publicAgent(mandate), await keyAgent(mandate)];
    });
    after(() => mandate.stop());

    const change = (set: string, requestId: string) =>
      mandate.sql(`update authorizations set ${set} where request_id = '${requestId}'`);

    /** The rows that the doctor names. */
    async function doctorNames(): Promise<string> {
      const found = doctorSettings({ environment: environmentOf(fresh.settings), overrides: [] });
      const opened = await openCondition(found.section('Service:Database') as never);
      if (opened.kind !== 'opened') throw new Error(opened.sentence);
      const { condition } = opened;
      const { status, sentence } = judgeBeside(
        await condition.besideLedger({ limit: 2000, keysAreSubjects: true }),
        undefined,
      );
      await condition.close();
      return status === 'failed' ? sentence : status;
    }

    async function expectNoTask(
      form: ReturnType<AllowedRequest['form']>,
      { requestId, agent = editor, how }: { requestId: string; agent?: RegisteredAgent; how: string },
    ) {
      const before = mandate.log.lines.length;
      const records = await mandate.recorded(async () => {
        const { status, body } = await token(mandate, form);
        expect([status, body]).to.deep.equal([503, { error: 'temporarily_unavailable', error_description: SENTENCE }]);
      });
      expect(fieldsOf(records, 'event', 'reason', 'agent_id', 'sponsor', 'scope')).to.deep.equal([
        ['token.denied', 'authorization_altered', agent.id, null, null],
      ]);
      const errors = mandate.log.lines.slice(before).filter((line) => line.includes('"level":"error"'));
      expect(errors).to.have.lengthOf(1);
      const [said = '{}'] = errors;
      expect(JSON.parse(said)).to.include({ row: 'authorization', id: requestId, difference: how });
      expect(said).to.contain('It opens no task');
      expect(await doctorNames()).to.contain(`the answer to ${requestId} differs`);
    }

    const NAMES = {
      'the key of another person': "sponsor_key = 'grace'",
      'another person': "sponsor_key = 'grace', sponsor = 'grace'",
      'another audience': `audience = '${WIKI}'`,
      'more scope':
        "chosen_scope = 'jira:read jira:comment mail:send', held_scope = 'jira:read jira:comment mail:send'",
      'another client': "client = 'key'",
    };
    for (const [what, set] of Object.entries(NAMES)) {
      it(`opens no task with ${what}, and opens one as it was`, async () => {
        const { requestId, form } = await allowedRequest(mandate, editor.id, { sub: 'ada' });
        const columns = ['sponsor_key', 'sponsor', 'audience', 'chosen_scope', 'held_scope', 'client'];
        const [kept = {}] = await mandate.sql(
          `select ${columns.join(', ')} from authorizations where request_id = '${requestId}'`,
        );
        await change(set, requestId);
        await expectNoTask(form(), { requestId, how: 'names' });
        await change(columns.map((column) => `${column} = '${kept[column]}'`).join(', '), requestId);
        expect(await doctorNames()).to.equal('ok');
        expect((await token(mandate, form())).status).to.equal(200);
      });
    }

    it('opens one where the key of a person is not the sub: the record does not have it', async () => {
      const { requestId, form } = await allowedRequest(mandate, editor.id, { sub: 'ada' });
      await change("sponsor_key = 'ada@example.com'", requestId);
      await withService(mandate.another({ 'Service:UpstreamIdp:SponsorKeyClaim': 'email' }), async (byEmail) => {
        expect((await token(byEmail, form())).status).to.equal(200);
      });
    });

    it('opens no task for another agent', async () => {
      const { requestId, form } = await allowedRequest(mandate, editor.id);
      await change(`agent_id = '${other.id}'`, requestId);
      await expectNoTask(form(keyOf(other)), { requestId, agent: other, how: 'names' });
      await change(`agent_id = '${editor.id}'`, requestId);
    });

    it('opens no task if the person never gave it', async () => {
      const { authorization, verifier } = await keptRequest(mandate, editor.id, { sub: 'grace' });
      const { requestId } = authorization;
      const hash = createHash('sha256').update('a code').digest('hex');
      const answer = `state = 'allowed', answered_at = came_at, code_expires_at = expires_at, task_ends_at = expires_at`;
      const forged = `chosen_scope = offered_scope, code_hash = '${hash}', task_id = '${TASK}'`;
      await change(`${answer}, ${forged}`, requestId);
      const form = { grant_type: 'authorization_code', code: 'a code', code_verifier: verifier, client_id: editor.id };
      await expectNoTask(form, { requestId, how: 'no_record' });
      await mandate.sql(`delete from authorizations where request_id = '${requestId}'`);
    });

    it('opens no task with the record of another request of the same person', async () => {
      const [one, two] = [await allowedRequest(mandate, editor.id), await keptRequest(mandate, editor.id)];
      const { requestId } = two.authorization;
      const columns = 'answered_at, code_expires_at, chosen_scope, task_ends_at, code_hash, task_id';
      const [first] = [`from authorizations where request_id = '${one.requestId}'`];
      await mandate.sql(`create table kept_answer as select ${columns} ${first}`);
      await mandate.sql(`delete ${first}`);
      const from = columns.split(', ').map((column) => `${column} = (select ${column} from kept_answer)`);
      await change(`state = 'allowed', ${from.join(', ')}`, requestId);
      await mandate.sql('drop table kept_answer');
      await expectNoTask(one.form({ code_verifier: two.verifier }), { requestId, how: 'names' });
      await mandate.sql(`delete from authorizations where request_id = '${requestId}'`);
    });

    it('opens no second task, although the row says that none came from it and the first is deleted', async () => {
      const { requestId, form } = await allowedRequest(mandate, editor.id);
      const first = await token(mandate, form());
      const { task_id: taskId } = first.body;
      for (const table of ['task_grants', 'tasks'])
        await mandate.sql(`delete from ${table} where task_id = '${taskId}'`);
      await change("state = 'allowed', forget_at = expires_at", requestId);
      await expectNoTask(form(), { requestId, how: 'state' });
    });
  });
}
