/** Hand-overs that are refused, each with its record (docs/sub-agents.md). Others' chains have been bypassed in some of these ways. */

import { expect } from 'chai';
import { decodeJwt, UnsecuredJWT } from 'jose';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask, offerForm, TOKEN_TYPE, takeUpForm } from '../../support/delegation.ts';
import {
  type Answer,
  type Form,
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
} from '../../support/mandate.ts';
import { sharedSigningKey } from '../../support/shared-signing-key.ts';

const DEEP = { max_delegation_depth: 5 };
const NONE_IS_HELD =
  'None of the requested scopes is held by the offer, by every task above and by every agent of the chain.';
const ONE_SENTENCE = 'The delegation offer is unknown, has expired, was used before, or is for another agent.';

for (const database of databasesByLength) {
  describe(`Refused hand-overs on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let at: ReturnType<typeof delegationAt>;
    let root: RegisteredAgent;
    let lead: RegisteredAgent;
    let leaf: RegisteredAgent;
    let shallow: RegisteredAgent;
    let elsewhere: RegisteredAgent;
    let started: HeldTask;
    before(async () => {
      mandate = await startMandate({
        database,
        settings: {
          ...sharedSigningKey(),
          'Service:Audit:Aggregation:Enabled': 'false',
          'Service:Delegation:Enabled': 'true',
          'Service:Delegation:MaxDepth': '3',
          'Service:Delegation:MaxChildrenPerTask': '2',
          'Service:Delegation:OfferTtl': 'PT2M',
          'Service:StatusLists:Enabled': 'true',
        },
      });
      // An offer is made a second before its task ends too soon for one. A slow machine would pass it.
      mandate.clock.standStill();
      at = delegationAt(mandate);
      leaf = await mandate.agent(DEEP);
      shallow = await mandate.agent({ max_delegation_depth: 1 });
      elsewhere = await mandate.agent({ ...DEEP, allowed_audiences: [WIKI], high_risk_audiences: [] });
      lead = await mandate.agent({ ...DEEP, delegates_to: [leaf.id] });
      const delegates_to = [lead.id, leaf.id, shallow.id, elsewhere.id];
      root = await mandate.agent({ ...DEEP, delegates_to });
      await mandate.admin('PATCH', `/admin/agents/${leaf.id}`, { delegates_to: [root.id, lead.id, leaf.id] });
    });
    after(() => mandate.stop());
    beforeEach(async () => {
      started = heldTask(await root.exchange());
    });

    /** Expects one record of the refusal, and returns the answer. */
    async function refused(reason: string, ask: () => Promise<Answer>, about: object = {}): Promise<Answer> {
      let answer: Answer | undefined;
      const lines = await mandate.recorded(async () => {
        answer = await ask();
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason'), answer?.text).to.deep.equal([
        ['token.denied', 'deny', reason],
      ]);
      expect(lines[0]).to.include(about);
      if (answer === undefined) throw new Error('nothing was asked');
      return answer;
    }

    const token = (form: Form) => mandate.post('/oauth2/token', form);

    describe('at the offer', () => {
      for (const [what, reason, error, form] of [
        ['an agent that the registration does not name', 'delegation_not_allowed', 'access_denied', () => ({})],
        [
          'an agent that is not registered',
          'delegation_not_allowed',
          'access_denied',
          () => ({ audience: 'agent:none' }),
        ],
        [
          'itself, which it does not name',
          'delegation_not_allowed',
          'access_denied',
          () => ({ audience: `agent:${root.id}` }),
        ],
        [
          'an agent that may be in no chain',
          'delegation_depth_exceeded',
          'access_denied',
          () => ({ audience: `agent:${shallow.id}` }),
        ],
        [
          'an agent that may not act there',
          'audience_not_allowed',
          'invalid_target',
          () => ({ audience: `agent:${elsewhere.id}` }),
        ],
        [
          'a scope that the task does not hold',
          'scope_widened',
          'invalid_scope',
          () => ({ scope: 'jira:admin', audience: `agent:${lead.id}` }),
        ],
        ['an empty scope', 'invalid_request', 'invalid_request', () => ({ scope: ' ', audience: `agent:${lead.id}` })],
        ['no audience', 'invalid_request', 'invalid_request', () => ({ audience: undefined })],
        ['an audience that is no agent', 'invalid_request', 'invalid_request', () => ({ audience: JIRA })],
        ['no requested_token_type', 'invalid_request', 'invalid_request', () => ({ requested_token_type: undefined })],
        [
          'a requested access token',
          'invalid_request',
          'invalid_request',
          () => ({ requested_token_type: `${TOKEN_TYPE}:access_token` }),
        ],
        ['no resource', 'invalid_request', 'invalid_request', () => ({ resource: undefined })],
      ] as const) {
        it(`${what}: ${reason}`, async () => {
          const stranger = await mandate.agent();
          const answer = await refused(reason, () => token(offerForm(root, stranger.id, started.grant, form())));
          expect([answer.status, answer.body.error]).to.deep.equal([400, error]);
          if (error === 'access_denied') expect(answer.body.reason).to.equal(reason);
          expect(answer.body.error_description).to.not.match(/refresh/i);
        });
      }

      it('a grant of another agent, an unknown one, one whose task ended, and a task token in its place', async () => {
        const asked = { audience: JIRA, scope: 'jira:read jira:comment' };
        await refused('grant_not_found', () => at.ask(lead, leaf.id, started.grant), asked);
        await refused('grant_not_found', () => at.ask(root, lead.id, started.token));
        await refused('grant_not_found', () => at.ask(root, lead.id, `${started.grant}x`));
        await mandate.admin('DELETE', `/admin/tasks/${started.taskId}`);
        await refused('task_revoked', () => at.ask(root, lead.id, started.grant), { task_id: started.taskId });
      });

      it('a person who is blocked', async () => {
        const person = `blocked-${database.engine}`;
        const task = heldTask(await root.exchangeFor({ sub: person }));
        await mandate.block(person, 'disabled');
        await refused('task_revoked', () => at.ask(root, lead.id, task.grant));
      });

      it('an agent above in the chain, which would be a circle; below itself it may stand', async () => {
        const own = await at.handOver(root, leaf, started);
        await refused('delegation_not_allowed', () => at.ask(leaf, root.id, own.grant), { task_id: own.taskId });
        const twice = await at.handOver(leaf, leaf, own);
        expect((decodeJwt(twice.token).act as { depth: number }).depth).to.equal(3);
        await refused('delegation_depth_exceeded', () => at.ask(leaf, leaf.id, twice.grant));
      });

      it('an agent that may have none of the scopes, or not act there: the sentence is about that agent', async () => {
        await mandate.admin('PATCH', `/admin/agents/${lead.id}`, { allowed_scopes: ['jira:admin'] });
        const scopes = await refused('scope_intersection_empty', () => at.ask(root, lead.id, started.grant));
        await mandate.admin('PATCH', `/admin/agents/${lead.id}`, { allowed_scopes: ['jira:read', 'jira:comment'] });
        expect(scopes.body).to.deep.equal({
          error: 'invalid_scope',
          error_description: 'None of the offered scopes is allowed to the other agent.',
        });
        const there = await refused('audience_not_allowed', () => at.ask(root, elsewhere.id, started.grant));
        expect(there.body.error_description).to.equal('The other agent may not act at this resource.');
      });

      it('a replayed assertion', async () => {
        const actor_token = root.assertion();
        await at.offer(root, lead, started.grant, { actor_token });
        await refused('actor_replayed', () => at.ask(root, lead.id, started.grant, { actor_token }));
      });
    });

    describe('at the take-up', () => {
      const taken = (by: RegisteredAgent, offer: string, form: Form = {}) => token(takeUpForm(by, offer, form));

      it('an offer for another agent, and it can still be used', async () => {
        const offer = await at.offer(root, lead, started.grant);
        const { body } = await refused('delegation_not_for_agent', () => taken(leaf, offer), { agent_id: leaf.id });
        expect(body).to.deep.equal({ error: 'invalid_grant', error_description: ONE_SENTENCE });
        expect((await taken(lead, offer)).status).to.equal(200);
      });

      it('an offer that was used', async () => {
        const offer = await at.offer(root, lead, started.grant);
        heldTask(await taken(lead, offer));
        const { body } = await refused('delegation_offer_spent', () => taken(lead, offer));
        expect(body.error_description).to.equal(ONE_SENTENCE);
      });

      it('only a task spends an offer: a refusal does not', async () => {
        const offer = await at.offer(root, lead, started.grant);
        const { body } = await refused('scope_intersection_empty', () => taken(lead, offer, { scope: 'jira:admin' }));
        expect(body.error_description).to.equal(NONE_IS_HELD);
        await refused('audience_mismatch', () => taken(lead, offer, { resource: WIKI }));
        expect((await taken(lead, offer)).status).to.equal(200);
      });

      it('an offer whose time is up, to the second', async () => {
        const offer = await at.offer(root, lead, started.grant);
        const { exp = 0, iat = 0 } = decodeJwt(offer);
        expect(exp - iat, 'Service:Delegation:OfferTtl').to.equal(120);
        mandate.clock.advance(exp - mandate.clock.seconds());
        const { body } = await refused('delegation_offer_expired', () => taken(lead, offer));
        expect(body.error_description).to.equal(ONE_SENTENCE);
      });

      it('an offer of a task that ends in less than five seconds', async () => {
        const { exp } = decodeJwt(started.token).task as { exp: number };
        mandate.clock.advance(exp - 6 - mandate.clock.seconds());
        const offer = await at.offer(root, lead, started.grant);
        mandate.clock.advance(2);
        const { body } = await refused('task_ending', () => taken(lead, offer), { sponsor: 'ada' });
        expect(body).to.include({ error: 'access_denied', reason: 'task_ending' });
      });

      it('what is no offer of this service: one sentence, and nothing of it is repeated', async () => {
        const offer = await at.offer(root, lead, started.grant);
        const claims = decodeJwt(offer);
        const signed = (typ: string, changes: object) =>
          lead.key.sign({ alg: 'ES256', typ, kid: lead.key.kid }, { ...claims, ...changes });
        const [head = '', body = '', signature = ''] = offer.split('.');
        for (const forged of [
          signed('delegation-offer+jwt', {}),
          signed('delegation-offer+jwt', { iss: 'https://other.example' }),
          new UnsecuredJWT(claims).encode(),
          `${head}.${body}.`,
          `${head}.${Buffer.from(JSON.stringify({ ...claims, sub: 'grace' })).toString('base64url')}.${signature}`,
          started.token,
          started.grant,
          'x',
        ]) {
          const answer = await refused('delegation_offer_unknown', () => taken(lead, forged), { agent_id: lead.id });
          expect(answer.body).to.deep.equal({ error: 'invalid_grant', error_description: ONE_SENTENCE });
        }
      });

      it('an offer in place of an access token', async () => {
        const offer = await at.offer(root, lead, started.grant);
        const form = { subject_token_type: `${TOKEN_TYPE}:access_token` };
        const { body } = await refused('subject_malformed', () => taken(lead, offer, form));
        expect(body.error).to.equal('invalid_grant');
        expect(await mandate.introspect(offer)).to.deep.equal({ active: false });
      });

      it('an offer of a task that has ended, and of one whose parent was stopped', async () => {
        const offer = await at.offer(root, lead, started.grant);
        await mandate.admin('DELETE', `/admin/tasks/${started.taskId}`);
        const { body } = await refused('parent_ended', () => taken(lead, offer), { sponsor: 'ada' });
        expect(body).to.include({ error: 'access_denied', reason: 'parent_ended' });
      });

      it('an agent that was disabled since the offer, itself or above', async () => {
        const [child, parent] = [await mandate.agent(DEEP), await mandate.agent(DEEP)];
        await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { delegates_to: [child.id] });
        const task = heldTask(await parent.exchange());
        const offer = await at.offer(parent, child, task.grant);
        await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { enabled: false });
        const { body, text } = await refused('ancestor_disabled', () => taken(child, offer));
        expect(body).to.include({ error: 'access_denied', reason: 'ancestor_disabled' });
        expect(text).to.not.include(parent.id);
        await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { enabled: true });
        await mandate.admin('PATCH', `/admin/agents/${child.id}`, { enabled: false });
        await refused('agent_disabled', () => taken(child, offer));
        await mandate.admin('PATCH', `/admin/agents/${child.id}`, { enabled: true });
        await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { delegates_to: [] });
        await refused('delegation_not_allowed', () => taken(child, offer));
      });

      it('an agent above that may not act there any more: the sentence is about that agent, at a renewal too', async () => {
        const [first, second] = [await at.offer(root, lead, started.grant), await at.offer(root, lead, started.grant)];
        const child = heldTask(await taken(lead, first));
        const above = (allowed_audiences: readonly string[]) =>
          mandate.admin('PATCH', `/admin/agents/${root.id}`, { allowed_audiences, high_risk_audiences: [] });
        await above([WIKI]);
        const answers = [
          await refused('audience_not_allowed', () => taken(lead, second), { sponsor: 'ada' }),
          await refused('audience_not_allowed', () => lead.refresh(child.grant), { task_id: child.taskId }),
        ];
        await above([JIRA, WIKI]);
        for (const { body } of answers) {
          expect(body).to.deep.equal({
            error: 'invalid_target',
            error_description: 'An agent above in the chain may not act at this resource.',
          });
        }
      });

      it('an agent above that may have none of the scopes any more, at a renewal: the sentence is about the chain', async () => {
        const child = await at.handOver(root, lead, started);
        const { body: registered } = await mandate.admin('GET', `/admin/agents/${root.id}`);
        const above = (allowed_scopes: unknown) =>
          mandate.admin('PATCH', `/admin/agents/${root.id}`, { allowed_scopes });
        await above(['jira:admin']);
        const { body } = await refused('scope_intersection_empty', () => lead.refresh(child.grant), {
          task_id: child.taskId,
        });
        await above(registered.allowed_scopes);
        expect(body).to.deep.equal({ error: 'invalid_scope', error_description: NONE_IS_HELD });
      });

      it('an agent above that may not delegate to the next one any more, at a renewal', async () => {
        const child = await at.handOver(root, lead, started);
        const below = await at.handOver(lead, leaf, child);
        const named = [lead.id, leaf.id, shallow.id, elsewhere.id];
        await mandate.admin('PATCH', `/admin/agents/${root.id}`, { delegates_to: [] });
        const answers = [
          await refused('delegation_not_allowed', () => leaf.refresh(below.grant), { task_id: below.taskId }),
          await refused('delegation_not_allowed', () => at.ask(lead, leaf.id, child.grant), { task_id: child.taskId }),
        ];
        await mandate.admin('PATCH', `/admin/agents/${root.id}`, { delegates_to: named });
        for (const { body } of answers) {
          expect(body).to.deep.equal({
            error: 'access_denied',
            error_description: 'An agent of the chain may not delegate to the next one.',
            reason: 'delegation_not_allowed',
          });
        }
        expect((await leaf.refresh(below.grant)).status, 'named again').to.equal(200);
      });

      it('a person who was blocked since the offer', async () => {
        const person = `blocked-since-${database.engine}`;
        const task = heldTask(await root.exchangeFor({ sub: person }));
        const offer = await at.offer(root, lead, task.grant);
        await mandate.block(person, 'disabled');
        await refused('sponsor_disabled', () => taken(lead, offer), { sponsor: person });
      });

      it('one task too many under a task; ended ones take no place, and offers none', async () => {
        const offers = [];
        for (let nth = 0; nth < 4; nth++) offers.push(await at.offer(root, lead, started.grant));
        const [one = '', two = '', three = '', four = ''] = offers;
        const first = heldTask(await taken(lead, one));
        heldTask(await taken(lead, two));
        const { body } = await refused('too_many_children', () => taken(lead, three));
        expect(body).to.include({ error: 'access_denied', reason: 'too_many_children' });
        await refused('too_many_children', () => at.ask(root, lead.id, started.grant));
        await mandate.admin('DELETE', `/admin/tasks/${first.taskId}`);
        heldTask(await taken(lead, three));
        await refused('too_many_children', () => taken(lead, four));
      });

      it('a replayed assertion, and the offer can still be used', async () => {
        const offer = await at.offer(root, lead, started.grant);
        const actor_token = lead.assertion();
        await lead.exchange({ actor_token });
        await refused('actor_replayed', () => taken(lead, offer, { actor_token }));
        expect((await taken(lead, offer)).status).to.equal(200);
      });

      it('an agent that a person does not let delegate', async () => {
        const person = `no-delegation-${database.engine}`;
        const task = heldTask(await root.exchangeFor({ sub: person }));
        const offer = await at.offer(root, lead, task.grant);
        await mandate.sql(
          `insert into delegation_refusals (sponsor_key, agent_id, refused_at) values ('${person}', '${root.id}', ${
            database.engine === 'sqlite' ? '1' : 'now()'
          })`,
        );
        const { body } = await refused('delegation_refused_by_person', () => taken(lead, offer));
        expect(body).to.include({ error: 'access_denied', reason: 'delegation_refused_by_person' });
        await refused('delegation_refused_by_person', () => at.ask(root, lead.id, task.grant));
      });
    });
  });
}
