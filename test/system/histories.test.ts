/**
 * Random histories of all operations that start, end or refuse a task, on two replicas of one database. A model of the
 * specification's state tables predicts every answer and record.
 */

import { getListFromStatusListJWT, getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import fc from 'fast-check';
import { repetitions } from '../contract/repetitions.ts';
import { databasesByLength } from '../support/databases.ts';
import {
  type Answer,
  fieldsOf,
  type LedgerLine,
  type Mandate,
  type RegisteredAgent,
  startMandate,
} from '../support/mandate.ts';
import { sharedSigningKey } from '../support/shared-signing-key.ts';
import { type Expectation, type ModelTask, stateTables } from './state-tables.ts';

/** In seconds. Some waits of a history are longer, others shorter. */
const RETENTION = 7000;
/** A step picks one of this many newest tasks, because most older tasks have ended. */
const LATEST = 5;
const AGENTS = 2;
const PEOPLE = 2;

/** The operations of a history. A number picks one of the tasks, agents or people. */
type Step =
  | { readonly kind: 'exchange'; readonly agent: number; readonly person: number }
  | { readonly kind: 'refresh'; readonly which: number; readonly times: number }
  | { readonly kind: 'revoke_grant' | 'revoke_token' | 'kill_task'; readonly which: number }
  | { readonly kind: 'kill_agent' | 'disable' | 'enable'; readonly agent: number }
  | { readonly kind: 'kill_person' | 'block' | 'lift'; readonly person: number }
  | { readonly kind: 'wait'; readonly seconds: number }
  | { readonly kind: 'sweep' | 'restart' };

const agent = fc.nat(AGENTS - 1);
const person = fc.nat(PEOPLE - 1);
const which = fc.nat(1000);
const onTask = (kind: 'revoke_grant' | 'revoke_token' | 'kill_task') => which.map((which): Step => ({ kind, which }));
const onAgent = (kind: 'kill_agent' | 'disable' | 'enable') => agent.map((agent): Step => ({ kind, agent }));
const onPerson = (kind: 'kill_person' | 'block' | 'lift') => person.map((person): Step => ({ kind, person }));
const weighted = (weight: number, arbitrary: fc.Arbitrary<Step>) => ({ weight, arbitrary });
const step: fc.Arbitrary<Step> = fc.oneof(
  weighted(
    9,
    fc.tuple(agent, person).map(([agent, person]): Step => ({ kind: 'exchange', agent, person })),
  ),
  weighted(
    9,
    fc.tuple(which, fc.integer({ min: 1, max: 3 })).map(([which, times]): Step => ({ kind: 'refresh', which, times })),
  ),
  weighted(1, onTask('revoke_grant')),
  weighted(1, onTask('revoke_token')),
  weighted(1, onTask('kill_task')),
  weighted(1, onAgent('kill_agent')),
  weighted(1, onAgent('disable')),
  weighted(2, onAgent('enable')),
  weighted(1, onPerson('kill_person')),
  weighted(2, onPerson('block')),
  weighted(3, onPerson('lift')),
  // Sums of these waits rarely equal a lifetime, so a step rarely happens exactly at an end.
  weighted(
    3,
    fc.constantFrom(97, 190, 710, 7310).map((seconds): Step => ({ kind: 'wait', seconds })),
  ),
  weighted(3, fc.constant<Step>({ kind: 'sweep' })),
  weighted(1, fc.constant<Step>({ kind: 'restart' })),
);

/** A history: each step, and whether the second replica executes it. */
const history = fc.array(fc.tuple(step, fc.boolean()), { minLength: 30, maxLength: 60, size: 'max' });

for (const database of databasesByLength) {
  describe(`Random histories on ${database.name}`, () => {
    let first: Mandate;
    let second: Mandate;
    let ahead = 0;
    before(async () => {
      const settings = {
        ...sharedSigningKey(),
        'Service:Tasks:Retention': `PT${RETENTION}S`,
        'Service:StatusLists:Enabled': 'true',
        'Service:StatusLists:Ttl': 'PT1S',
      };
      first = await startMandate({ database, settings });
      second = await first.another({});
    });
    after(async () => {
      await second.stop();
      await first.stop();
    });

    it("get the answers and records that the specification's state tables predict", async function () {
      this.timeout(600_000);
      await fc.assert(
        fc.asyncProperty(history, async (steps) => {
          const play = await aPlay();
          for (const [what, onSecond] of steps) {
            await play.act(what, onSecond ? 1 : 0);
            await play.compareTokens(onSecond ? 0 : 1);
          }
          await play.compareLedger();
        }),
        // Does not shrink a failed history, which takes minutes. The printed seed repeats it.
        { numRuns: repetitions(1, 12), endOnFailure: true },
      );
    });

    async function aPlay() {
      const agents: RegisteredAgent[] = [];
      for (let nth = 0; nth < AGENTS; nth++) agents.push(await first.agent());
      const people = Array.from({ length: PEOPLE }, (_, nth) => `${agents[0]?.id}-person-${nth}`);
      // Replicas on one SQLite file run on one machine, so they share its clock.
      const tables = stateTables(RETENTION, database.engine === 'postgres' ? 2 : 0);
      const at = (replica: number) => (replica === 0 ? first : second);
      const now = () => first.clock.now();
      const pick = <Thing>(things: readonly Thing[], nth: number): Thing | undefined =>
        things.at(-1 - (nth % Math.min(things.length, LATEST)));
      const theAgent = (nth: number) => agents[nth] ?? fail();
      const thePerson = (nth: number) => people[nth] ?? fail();

      /** Expects the prediction from before or after the request, because time passes during the request. */
      async function agree(ask: () => Promise<Answer>, foretell: () => Expectation): Promise<[Answer, Expectation]> {
        const before = foretell();
        const answer = await ask();
        const after = foretell();
        const told = { status: answer.status, reason: answer.body.reason ?? answer.body.error };
        const expected = before.status === told.status && before.reason === told.reason ? before : after;
        expect(told).to.deep.equal({ status: expected.status, reason: expected.reason });
        return [answer, expected];
      }

      async function exchange(agentNumber: number, personNumber: number, replica: number): Promise<void> {
        const [asking, sub] = [theAgent(agentNumber), thePerson(personNumber)];
        const form = asking.exchangeForm({ subject_token: asking.subjectToken({ sub }) });
        const [answer] = await agree(
          () => at(replica).post('/oauth2/token', form),
          () => tables.exchange(asking.id, sub),
        );
        if (answer.status === 200) tables.opened(asking.id, sub, answer.body);
      }

      async function refresh(task: ModelTask, replica: number): Promise<void> {
        const form = holder(task).refreshForm(task.grant);
        const [answer] = await agree(
          () => at(replica).post('/oauth2/token', form),
          () => tables.refresh(task, now()),
        );
        if (answer.status === 200) tables.renewed(task, answer.body);
      }

      const holder = (task: ModelTask) => agents.find(({ id }) => id === task.agentId) ?? fail();
      const revoke = (task: ModelTask, token: string, replica: number) =>
        at(replica).post('/oauth2/revoke', holder(task).revokeForm(token));

      function pass(seconds: number): void {
        ahead += seconds;
        for (const instance of [first, second]) instance.clock.advance(seconds);
      }

      /** Sends an admin request that ends tasks, and ends these tasks in the model. */
      async function kill(method: string, path: string, tasks: readonly ModelTask[], reason: string, replica: number) {
        const live = () => tasks.filter((task) => tables.isLive(task, now()));
        const before = live();
        const answer = await at(replica).admin(method, path);
        expect(answer.status).to.equal(200);
        const ended = answer.body.revoked_tasks === before.length ? before : live();
        expect(answer.body.revoked_tasks).to.equal(ended.length);
        for (const task of ended) tables.revoked(task, reason, now());
      }

      async function act(what: Step, replica: number): Promise<void> {
        const stored = tables.tasks.filter(({ deleted }) => !deleted);
        switch (what.kind) {
          case 'exchange':
            return exchange(what.agent, what.person, replica);
          case 'refresh': {
            const task = pick(tables.tasks, what.which);
            for (let time = 0; task !== undefined && time < what.times; time++) await refresh(task, replica);
            return;
          }
          case 'revoke_grant': {
            const task = pick(tables.tasks, what.which);
            if (task === undefined) return;
            const live = tables.isLive(task, now());
            expect((await revoke(task, task.grant, replica)).status).to.equal(200);
            if (live) tables.revoked(task, 'client_revoked', now());
            return;
          }
          case 'revoke_token': {
            const task = pick(tables.tasks, what.which);
            const token = task && pick(task.tokens, what.which);
            if (task === undefined || token === undefined) return;
            expect((await revoke(task, token.jwt, replica)).status).to.equal(200);
            token.revoked = true;
            return;
          }
          case 'kill_task': {
            const task = pick(stored, what.which);
            return task && kill('DELETE', `/admin/tasks/${task.taskId}`, [task], 'operator_kill_switch', replica);
          }
          case 'kill_agent': {
            const { id } = theAgent(what.agent);
            const own = tables.tasks.filter(({ agentId }) => agentId === id);
            return kill('DELETE', `/admin/agents/${id}/tasks`, own, 'operator_kill_switch', replica);
          }
          case 'kill_person':
          case 'block': {
            const sub = thePerson(what.person);
            const own = tables.tasks.filter((task) => task.person === sub);
            if (what.kind === 'kill_person') {
              return kill('DELETE', `/admin/sponsors/${sub}/tasks`, own, 'operator_kill_switch', replica);
            }
            await kill('PUT', `/admin/sponsors/${sub}/block`, own, 'sponsor_blocked', replica);
            tables.blocked.add(sub);
            return;
          }
          case 'lift': {
            const sub = thePerson(what.person);
            const answer = await at(replica).admin('DELETE', `/admin/sponsors/${sub}/block`);
            expect(answer.status).to.equal(tables.blocked.delete(sub) ? 204 : 404);
            return;
          }
          case 'disable':
          case 'enable': {
            const { id } = theAgent(what.agent);
            const enabled = what.kind === 'enable';
            expect((await at(replica).admin('PATCH', `/admin/agents/${id}`, { enabled })).status).to.equal(200);
            if (enabled) tables.disabled.delete(id);
            else tables.disabled.add(id);
            return;
          }
          case 'wait':
            pass(what.seconds);
            return;
          case 'sweep':
            await at(replica).jobs.sweep();
            tables.swept(now());
            return;
          case 'restart':
            await second.stop();
            second = await first.another({});
            second.clock.advance(ahead);
            return;
        }
      }

      /** The status of a live token in a list that is made now, compared with its introspection. */
      async function compareStatus(task: ModelTask, jwt: string, active: unknown, replica: number): Promise<void> {
        pass(1);
        const { uri } = getStatusListFromJWT(jwt);
        const list = await at(replica).get(new URL(uri).pathname);
        const status = getListFromStatusListJWT(list.text).getStatus(getStatusListFromJWT(jwt).idx);
        expect(status).to.be.oneOf(tables.statusesOf(task, now()));
        // 3 says only that one of the task's tokens was revoked.
        if (status !== 3) expect(status === 0).to.equal(active);
      }

      return {
        act,

        async compareTokens(replica: number): Promise<void> {
          for (const task of tables.tasks.slice(-LATEST)) {
            for (const token of task.tokens.slice(-1)) {
              const foretold = [tables.introspect(task, token, now())];
              const said = await at(replica).introspect(token.jwt);
              const { active, revocation_reason: reason = null, revoked_at: since = null } = said;
              foretold.push(tables.introspect(task, token, now()));
              expect({ active, reason }).to.be.deep.oneOf(foretold);
              expect(since === null).to.equal(reason === null || reason === 'agent_disabled');
              if (token.expiresAt > first.clock.seconds() + 1) await compareStatus(task, token.jwt, active, replica);
            }
          }
        },

        async compareLedger(): Promise<void> {
          for (const task of tables.tasks) {
            const { body } = await first.admin('GET', `/audit?task_id=${task.taskId}&limit=1000`);
            const lines = (body.records as LedgerLine[]).filter(
              ({ event, decision }) => decision === 'allow' && event !== 'token.revoked',
            );
            expect(fieldsOf(lines, 'event', 'reason', 'count')).to.deep.equal(tables.ledgerOf(task));
          }
        },
      };
    }
  });
}

function fail(): never {
  throw new Error('there is no such agent or person');
}
