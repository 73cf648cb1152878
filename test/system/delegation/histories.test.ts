/**
 * Random histories of trees of tasks, on two replicas of one database: hand-overs, renewals, narrowings, ends and changes of
 * registrations. A model predicts every token and every refusal, and the ledger alone gives the same trees.
 */

import { getListFromStatusListJWT, getStatusListFromJWT } from '@sd-jwt/jwt-status-list';
import { expect } from 'chai';
import fc from 'fast-check';
import { decodeJwt } from 'jose';
import { allowDelegation, refuseDelegation } from '../../../application/decisions/delegation-refusal.ts';
import { repetitions } from '../../contract/repetitions.ts';
import { anEntry } from '../../contract/storage-fixtures.ts';
import { databasesByLength } from '../../support/databases.ts';
import { heldTask, offerForm, takeUpForm } from '../../support/delegation.ts';
import { type Answer, JIRA, type Mandate, type RegisteredAgent, startMandate } from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';
import { AGENTS, history, LIMITS, type OnAgent, type OnPerson, PEOPLE, SCOPES, type Step } from './history-steps.ts';
import { treesOf } from './ledger-tree.ts';
import { chainOf, type ModelAgent, type ModelOffer, type ModelTask, treeModel } from './tree-model.ts';

/** A step picks one of this many newest tasks or offers. */
const LATEST = 8;

for (const database of databasesByLength) {
  describe(`Random histories of hand-overs on ${database.name}`, () => {
    let first: Mandate;
    let second: Mandate;
    let agents: readonly (ModelAgent & { readonly registered: RegisteredAgent })[];
    let plays = 0;
    before(async () => {
      first = await startMandate({
        database,
        settings: {
          ...sharedSigningKey(),
          // Each refresh has its own record, with its scope.
          'Service:Audit:Aggregation:Enabled': 'false',
          'Service:StatusLists:Enabled': 'true',
          'Service:StatusLists:Ttl': 'PT1S',
          'Service:Delegation:Enabled': 'true',
          'Service:Delegation:MaxDepth': String(LIMITS.maxDepth),
          'Service:Delegation:MaxChildrenPerTask': String(LIMITS.maxChildren),
        },
      });
      second = await first.another({}, undefined, { clock: first.clock });
      const registered: RegisteredAgent[] = [];
      for (const { to: _, ...changes } of AGENTS) registered.push(await first.agent(changes));
      const named = AGENTS.map(({ to }) => to.map((nth) => registered[nth]?.id ?? fail()));
      for (const [nth, { id }] of registered.entries()) {
        const answer = await first.admin('PATCH', `/admin/agents/${id}`, { delegates_to: named[nth] });
        expect(answer.status, answer.text).to.equal(200);
      }
      agents = AGENTS.map(({ allowed_scopes: allowedScopes, max_delegation_depth: maxDepth }, nth) => {
        const one = registered[nth] ?? fail();
        return { id: one.id, registered: one, allowedScopes, maxDepth, delegatesTo: named[nth] ?? fail() };
      });
    });
    after(async () => {
      await second.stop();
      await first.stop();
    });

    it('no token exceeds a task above, nothing below an end is active or renewed, and the ledger has the trees', async function () {
      this.timeout(600_000);
      await fc.assert(
        fc.asyncProperty(history, async (all) => {
          const play = aPlay();
          for (const [what, onSecond] of all) await play.act(what, onSecond ? 1 : 0);
          await play.compareTokens(play.tasks);
          await play.compareLists();
          await play.compareLedger();
          await play.finish();
        }),
        // Does not shrink a failed history, which takes minutes. The printed seed repeats it.
        { numRuns: repetitions(1, 40), endOnFailure: true },
      );
    });

    function aPlay() {
      const people = Array.from({ length: PEOPLE }, (_, nth) => `person-${plays}-${nth}`);
      plays += 1;
      const model = treeModel(LIMITS);
      const { tasks } = model;
      const offers: ModelOffer[] = [];
      const at = (replica: number) => (replica === 0 ? first : second);
      const now = () => first.clock.seconds();
      const pick = <Thing>(things: readonly Thing[], nth: number): Thing | undefined =>
        things.at(-1 - (nth % Math.min(things.length, LATEST)));
      const theAgent = (nth: number) => agents[nth] ?? fail();
      const named = (id: string | undefined) => agents.find((one) => one.id === id) ?? fail();
      const childOf = ({ delegatesTo }: ModelAgent, nth: number) =>
        nth > 7 || delegatesTo.length === 0
          ? theAgent(nth % AGENTS.length)
          : named(delegatesTo[nth % delegatesTo.length]);
      const thePerson = (nth: number) => people[nth] ?? fail();
      const of = <Thing>(mask: number, things: readonly Thing[]) =>
        things.filter((_, nth) => (mask & (1 << nth)) !== 0);
      const masked = (mask: number) => of(mask, SCOPES);
      const held = ({ id }: ModelAgent) => named(id).registered;
      const send = (replica: number, form: Parameters<Mandate['post']>[1]) => at(replica).post('/oauth2/token', form);

      /** Compares with the prediction from before or after the request, because time passes during the request. */
      async function foretold(
        ask: () => Promise<Answer>,
        foretell: () => readonly string[] | undefined,
      ): Promise<Answer | undefined> {
        const before = foretell();
        const answer = await ask();
        const scope = answer.status === 200 ? String(answer.body.scope).split(' ') : undefined;
        expect(scope, answer.text).to.be.deep.oneOf([before, foretell()]);
        return scope && answer;
      }

      /** Expects of a token that it exceeds none of the tasks above. */
      function notBeyond(task: ModelTask): void {
        const { aud, scope, exp = Number.NaN, task: of } = decodeJwt(task.token);
        for (const above of chainOf(task.parent)) {
          expect(aud).to.equal(decodeJwt(above.token).aud);
          expect(above.scope).to.include.members(String(scope).split(' '));
          expect(exp).to.be.at.most(above.expiresAt);
          expect((of as { exp: number }).exp)
            .to.equal(task.expiresAt)
            .and.be.at.most(above.expiresAt);
        }
      }

      function opened(answer: Answer, by: ModelAgent, of: Pick<ModelTask, 'person' | 'parent'>): void {
        const { taskId, grant, token, scope } = heldTask(answer);
        const expiresAt = Date.parse(String(answer.body.task_expires_at)) / 1000;
        const task = { taskId, agent: by, ...of, grant, token, expiresAt, scope: scope.split(' '), end: undefined };
        tasks.push(task);
        notBeyond(task);
      }

      async function start(by: ReturnType<typeof theAgent>, sub: string, replica: number): Promise<void> {
        const subject_token = by.registered.subjectToken({ sub, scope: SCOPES.join(' ') });
        const form = by.registered.exchangeForm({ subject_token, scope: SCOPES.join(' ') });
        const foretell = () => (model.canStart(by, sub) ? by.allowedScopes : undefined);
        const answer = await foretold(() => send(replica, form), foretell);
        if (answer) opened(answer, by, { person: sub, parent: undefined });
      }

      async function renew(task: ModelTask, asked: readonly string[], replica: number): Promise<void> {
        const form = held(task.agent).refreshForm(task.grant, { scope: asked.join(' ') });
        const answer = await foretold(
          () => send(replica, form),
          () => model.renewed(task, asked, now()),
        );
        if (answer === undefined) return;
        const { token, scope } = heldTask(answer);
        Object.assign(task, { token, scope: scope.split(' ') });
        notBeyond(task);
      }

      async function offer(
        task: ModelTask,
        child: ModelAgent,
        asked: readonly string[],
        replica: number,
      ): Promise<ModelOffer | undefined> {
        const form = offerForm(held(task.agent), child.id, task.grant, { scope: asked.join(' ') });
        const answer = await foretold(
          () => send(replica, form),
          () => model.offered(task, child, asked, now()),
        );
        if (answer === undefined) return undefined;
        const jwt = String(answer.body.access_token);
        const { exp = Number.NaN, resource } = decodeJwt(jwt);
        expect([exp <= task.expiresAt, resource]).to.deep.equal([true, JIRA]);
        const made = { jwt, parent: task, child, scope: String(answer.body.scope).split(' '), expiresAt: exp };
        offers.push({ ...made, isSpent: false });
        return offers.at(-1);
      }

      async function take(from: ModelOffer, asked: readonly string[], replica: number): Promise<void> {
        const { parent, child } = from;
        const form = takeUpForm(held(child), from.jwt, { scope: asked.join(' ') });
        const answer = await foretold(
          () => send(replica, form),
          () => model.taken(from, asked, now()),
        );
        if (answer === undefined) return;
        from.isSpent = true;
        opened(answer, child, { person: parent.person, parent });
      }

      /** Sends an admin request that ends tasks, and ends these tasks in the model. */
      async function kill(
        method: string,
        path: string,
        selected: readonly ModelTask[],
        reason: string,
        replica: number,
      ) {
        const live = () => selected.flatMap(model.below).filter((task) => model.isLive(task, now()));
        const before = new Set(live());
        const answer = await at(replica).admin(method, path);
        expect(answer.body.revoked_tasks, answer.text).to.be.oneOf([before.size, new Set(live()).size]);
        ended(selected, reason);
        await compareTokens(selected.flatMap(model.below));
      }

      const ended = (selected: readonly ModelTask[], reason: string) => model.ended(selected, reason, now());

      /** The other replica says which of these tasks are active. */
      async function compareTokens(some: readonly ModelTask[], replica = 0): Promise<void> {
        for (const task of new Set(some)) {
          const before = model.isActive(task, now());
          const { active } = await at(1 - replica).introspect(task.token);
          expect(active, task.taskId).to.be.oneOf([before, model.isActive(task, now())]);
        }
      }

      async function onPerson(kind: OnPerson, sub: string, replica: number): Promise<unknown> {
        const own = tasks.filter((task) => task.person === sub && model.isLive(task, now()));
        if (kind === 'kill_person') {
          return kill('DELETE', `/admin/sponsors/${sub}/tasks`, own, 'operator_kill_switch', replica);
        }
        if (kind === 'lift') {
          model.blocked.delete(sub);
          return at(replica).admin('DELETE', `/admin/sponsors/${sub}/block`);
        }
        await kill('PUT', `/admin/sponsors/${sub}/block`, own, 'sponsor_blocked', replica);
        return model.blocked.add(sub);
      }

      async function onAgent(kind: OnAgent, { id }: ModelAgent, replica: number): Promise<void> {
        const own = tasks.filter(({ agent }) => agent.id === id);
        if (kind === 'kill_agent') {
          const live = own.filter((task) => model.isLive(task, now()));
          return kill('DELETE', `/admin/agents/${id}/tasks`, live, 'operator_kill_switch', replica);
        }
        const enabled = kind === 'enable';
        expect((await at(replica).admin('PATCH', `/admin/agents/${id}`, { enabled })).status).to.equal(200);
        if (enabled) model.disabled.delete(id);
        else model.disabled.add(id);
        await compareTokens(own.flatMap(model.below), replica);
      }

      /** Changes to whom the agent may hand work over, and which of its first scopes it may have. */
      async function register(nth: number, names: number, scopes: number, replica: number): Promise<void> {
        const { to, allowed_scopes: all } = AGENTS[nth] ?? fail();
        const agent = theAgent(nth);
        const delegatesTo = of(names, to).map((one) => theAgent(one).id);
        const left = masked(scopes).filter((scope) => all.includes(scope));
        const allowedScopes = left.length > 0 ? left : all;
        const body = { delegates_to: delegatesTo, allowed_scopes: allowedScopes };
        expect((await at(replica).admin('PATCH', `/admin/agents/${agent.id}`, body)).status).to.equal(200);
        Object.assign(agent, { delegatesTo, allowedScopes });
      }

      /** The person decides at `/me` whether the agent hands work over. */
      async function choose(kind: 'refuse' | 'allow', sub: string, agentId: string, replica: number): Promise<void> {
        const choice = { sponsorKey: sub as never, agentId: agentId as never };
        const { storage } = at(replica);
        if (kind === 'refuse') {
          const entry = anEntry('delegation.refused', { at: first.clock.now() });
          expect(await storage.decide(refuseDelegation, { ...choice, entry })).to.equal('done');
          model.refusing.add(`${sub} ${agentId}`);
          return;
        }
        const entry = anEntry('delegation.allowed', { at: first.clock.now() });
        expect(await storage.decide(allowDelegation, { ...choice, entry })).to.equal('done');
        model.refusing.delete(`${sub} ${agentId}`);
      }

      async function onTask(what: Extract<Step, { which: number }>, replica: number): Promise<unknown> {
        if (what.kind === 'take') {
          const from = pick(offers, what.which);
          return from && take(from, masked(what.scopes), replica);
        }
        const live = tasks.filter((task) => model.isLive(task, now()));
        const task = pick(what.which % 7 === 0 ? tasks : live, what.which);
        if (task === undefined) return;
        switch (what.kind) {
          case 'offer':
          case 'hand_over': {
            const asked = masked(what.scopes).filter((scope) => task.scope.includes(scope));
            const from = asked.length > 0 && (await offer(task, childOf(task.agent, what.child), asked, replica));
            return what.kind === 'hand_over' && from && take(from, SCOPES, 1 - replica);
          }
          case 'narrow': {
            const asked = masked(what.scopes).filter((scope) => task.scope.includes(scope));
            return asked.length > 0 && renew(task, asked, replica);
          }
          case 'renew':
            return renew(task, task.scope, replica);
          case 'kill_task':
            return kill('DELETE', `/admin/tasks/${task.taskId}`, [task], 'operator_kill_switch', replica);
          case 'revoke_grant': {
            const wasLive = model.isLive(task, now());
            const form = held(task.agent).revokeForm(task.grant);
            expect((await at(replica).post('/oauth2/revoke', form)).status).to.equal(200);
            if (wasLive) ended([task], 'client_revoked');
            return compareTokens(model.below(task), replica);
          }
        }
      }

      async function act(what: Step, replica: number): Promise<unknown> {
        switch (what.kind) {
          case 'start':
            return start(theAgent(what.agent), thePerson(what.person), replica);
          case 'kill_agent':
          case 'disable':
          case 'enable':
            return onAgent(what.kind, theAgent(what.agent), replica);
          case 'register':
            return register(what.agent, what.names, what.scopes, replica);
          case 'kill_person':
          case 'block':
          case 'lift':
            return onPerson(what.kind, thePerson(what.person), replica);
          case 'refuse':
          case 'allow':
            return choose(what.kind, thePerson(what.person), theAgent(what.agent).id, replica);
          case 'wait':
            first.clock.advance(what.seconds);
            return compareTokens(tasks.slice(-LATEST));
          case 'sweep':
            return at(replica).jobs.sweep();
          default:
            return onTask(what, replica);
        }
      }

      return {
        act,
        tasks,
        compareTokens,

        /** Each task's status in a list that is made now: valid, ended, or suspended with an agent of its chain. */
        async compareLists(): Promise<void> {
          first.clock.advance(1);
          const lists = new Map<string, ReturnType<typeof getListFromStatusListJWT>>();
          for (const task of tasks.filter(({ token }) => (decodeJwt(token).exp ?? 0) > now() + 1)) {
            const { uri, idx } = getStatusListFromJWT(task.token);
            const list = lists.get(uri) ?? getListFromStatusListJWT((await second.get(new URL(uri).pathname)).text);
            lists.set(uri, list);
            const isSuspended = chainOf(task).some(({ agent }) => model.disabled.has(agent.id));
            expect(list.getStatus(idx), task.taskId).to.equal(model.isLive(task, now()) ? (isSuspended ? 2 : 0) : 1);
          }
        },

        /** Leaves no live task, and each agent enabled and as it was registered first, for the next history. */
        async finish(): Promise<void> {
          for (const nth of AGENTS.keys()) await register(nth, 7, 7, 0);
          for (const sub of people) await first.admin('DELETE', `/admin/sponsors/${sub}/tasks`);
          for (const { id } of agents) await first.admin('PATCH', `/admin/agents/${id}`, { enabled: true });
        },

        /** The ledger alone gives the trees of the model, and each end once. */
        async compareLedger(): Promise<void> {
          const lines = (await first.ledger()).filter(({ sponsor }) => people.includes(String(sponsor)));
          const found = treesOf(lines);
          expect([...found.keys()]).to.have.members(tasks.map(({ taskId }) => taskId));
          for (const task of tasks) {
            expect(found.get(task.taskId)).to.include({
              agentId: task.agent.id,
              sponsor: task.person,
              depth: chainOf(task).length,
              parentId: task.parent?.taskId,
            });
            const ends = lines.filter(({ event, task_id: id }) => event === 'task.revoked' && id === task.taskId);
            expect(ends.map(({ reason }) => reason)).to.deep.equal(task.end === undefined ? [] : [task.end]);
          }
        },
      };
    }
  });
}

function fail(): never {
  throw new Error('there is no such agent or person');
}
