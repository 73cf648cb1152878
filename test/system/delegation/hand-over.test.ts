/** Hand-overs: an agent offers a part of its task to another one, which takes it up as a task below (docs/sub-agents.md). */

import { generateKeyPairSync } from 'node:crypto';
import { expect } from 'chai';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import { databasesByLength } from '../../support/databases.ts';
import { delegationAt, type HeldTask, heldTask, TOKEN_TYPE } from '../../support/delegation.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate, WIKI } from '../../support/mandate.ts';
import { sharedSigningKey, signingKeySettings } from '../../support/shared-signing-key.ts';

const DEEP = { max_delegation_depth: 3 };

for (const database of databasesByLength) {
  describe(`Hand-overs on ${database.name}`, function () {
    this.timeout(60_000);
    let mandate: Mandate;
    let at: ReturnType<typeof delegationAt>;
    let root: RegisteredAgent;
    let lead: RegisteredAgent;
    let leaf: RegisteredAgent;
    let started: HeldTask;
    before(async () => {
      const delegation = { 'Service:Delegation:Enabled': 'true', 'Service:Delegation:MaxDepth': '3' };
      mandate = await startMandate({ database, settings: { ...sharedSigningKey(), ...delegation } });
      at = delegationAt(mandate);
      leaf = await mandate.agent({ ...DEEP, allowed_scopes: ['jira:read'], high_risk_audiences: [] });
      lead = await mandate.agent({ ...DEEP, delegates_to: [leaf.id], max_task_ttl: 'PT5M' });
      root = await mandate.agent({ ...DEEP, delegates_to: [lead.id, leaf.id], high_risk_audiences: [JIRA] });
    });
    after(() => mandate.stop());
    beforeEach(async () => {
      started = heldTask(await root.exchange({ actor_token: root.assertion({ instance: 'root-1' }) }));
    });

    it('answer with an offer: a JWT for the named agent, which is no access token, and one record', async () => {
      let offer = '';
      const lines = await mandate.recorded(async () => {
        const actor_token = root.assertion({ instance: 'root-2' });
        const { status, body } = await at.ask(root, lead.id, started.grant, { scope: 'jira:comment', actor_token });
        offer = String(body.access_token);
        expect([status, body]).to.deep.equal([
          200,
          {
            access_token: offer,
            issued_token_type: `${TOKEN_TYPE}:jwt`,
            token_type: 'N_A',
            expires_in: 60,
            scope: 'jira:comment',
          },
        ]);
      });
      const { jti, iat = 0, exp, ...claims } = decodeJwt(offer);
      expect(decodeProtectedHeader(offer)).to.include({ typ: 'delegation-offer+jwt', alg: 'ES256' });
      expect(claims).to.deep.equal({
        iss: mandate.issuer,
        aud: mandate.issuer,
        sub: 'ada',
        scope: 'jira:comment',
        resource: JIRA,
        act: { sub: `agent:${root.id}`, instance: 'root-2', depth: 1 },
        may_act: { sub: `agent:${lead.id}` },
        task: decodeJwt(started.token).task,
      });
      expect(exp).to.equal(iat + 60);
      const names = [
        'event',
        'task_id',
        'agent_id',
        'sponsor',
        'audience',
        'scope',
        'jti',
        'delegation_depth',
        'detail',
      ];
      expect(fieldsOf(lines, ...names)).to.deep.equal([
        [
          'delegation.offered',
          started.taskId,
          root.id,
          'ada',
          JIRA,
          'jira:comment',
          null,
          1,
          `offer=${jti}&child=${lead.id}`,
        ],
      ]);
      expect(await mandate.introspect(offer)).to.deep.equal({ active: false });
    });

    it('begin a task below, with the chain in its tokens, and two records in one transaction', async () => {
      const offer = await at.offer(root, lead, started.grant, { actor_token: root.assertion({ instance: 'root-2' }) });
      let child: HeldTask | undefined;
      const lines = await mandate.recorded(async () => {
        const answer = await at.take(lead, offer, { actor_token: lead.assertion({ instance: 'lead-1' }) });
        expect(answer.body).to.include({ token_type: 'Bearer', issued_token_type: `${TOKEN_TYPE}:access_token` });
        child = heldTask(answer);
      });
      if (child === undefined) throw new Error('no task');
      const claims = decodeJwt(child.token);
      expect(claims).to.deep.include({
        sub: 'ada',
        aud: JIRA,
        client_id: `agent:${lead.id}`,
        scope: 'jira:read jira:comment',
        act: {
          sub: `agent:${lead.id}`,
          instance: 'lead-1',
          depth: 2,
          act: { sub: `agent:${root.id}`, instance: 'root-2', depth: 1 },
        },
        // The agent above marks the audience.
        introspect_required: true,
      });
      expect(claims.task).to.include({ id: child.taskId, sponsor: 'ada' });
      const detail = `offer=${decodeJwt(offer).jti}&parent=${started.taskId}`;
      expect(fieldsOf(lines, 'event', 'task_id', 'agent_id', 'sponsor', 'delegation_depth', 'detail')).to.deep.equal([
        ['token.issued', child.taskId, lead.id, 'ada', 2, undefined],
        ['delegation.taken', child.taskId, lead.id, 'ada', 2, detail],
      ]);
      expect(await mandate.introspect(child.token)).to.include({ active: true, task_id: child.taskId });
    });

    it('give at most what is offered, what the task above has now, and what the agent may', async () => {
      const narrowed = heldTask(await root.refresh(started.grant, { scope: 'jira:read' }));
      expect(narrowed.scope).to.equal('jira:read');
      expect(await at.ask(root, lead.id, started.grant).then(({ body }) => body.error)).to.equal('invalid_scope');
      const wide = heldTask(await root.exchange());
      const offer = await at.offer(root, lead, wide.grant);
      await root.refresh(wide.grant, { scope: 'jira:comment' });
      expect(heldTask(await at.take(lead, offer)).scope, 'narrowed since').to.equal('jira:comment');
      const own = heldTask(await root.exchange());
      expect((await at.handOver(root, leaf, own)).scope, 'the ceiling of the agent').to.equal('jira:read');
      const less = await at.offer(root, lead, own.grant, { scope: 'jira:comment' });
      expect(heldTask(await at.take(lead, less)).scope, 'less offered than asked').to.equal('jira:comment');
    });

    it('never outlive the task above', async () => {
      const parent = decodeJwt(started.token).task as { exp: number };
      const middle = await at.handOver(root, lead, started);
      const { exp } = decodeJwt(middle.token).task as { exp: number };
      expect(exp).to.be.below(parent.exp);
      const below = await at.handOver(lead, leaf, middle, { scope: 'jira:read' });
      expect((decodeJwt(below.token).task as { exp: number }).exp, 'its agent may twenty minutes').to.equal(exp);
    });

    it('begin for the person, and in the session, of the task above', async () => {
      const person = { sub: 'in-session', sid: 'session-of-the-parent' };
      const below = await at.handOver(root, lead, heldTask(await root.exchangeFor(person)));
      const [row] = await mandate.sql(`select sponsor_key, session_id from tasks where task_id = '${below.taskId}'`);
      expect(row).to.include({ sponsor_key: person.sub, session_id: person.sid });
    });

    it('renew each task of the chain, with the chain', async () => {
      const middle = await at.handOver(root, lead, started);
      const below = await at.handOver(lead, leaf, middle, { scope: 'jira:read' });
      const renewed = heldTask(await leaf.refresh(below.grant));
      const chain = [leaf.id, lead.id, root.id].map((id) => `agent:${id}`);
      const acts = [];
      for (let act = decodeJwt(renewed.token).act as never; act !== undefined; act = (act as { act: never }).act) {
        acts.push(act as { sub: string; depth: number });
      }
      expect(acts.map(({ sub }) => sub)).to.deep.equal(chain);
      expect(acts.map(({ depth }) => depth)).to.deep.equal([3, 2, 1]);
      expect(await mandate.introspect(renewed.token)).to.include({ active: true });
    });

    it('narrow below what is narrowed above; of what is left nothing, there is no renewal', async () => {
      const middle = await at.handOver(root, lead, started);
      const below = await at.handOver(lead, leaf, middle, { scope: 'jira:read' });
      await root.refresh(started.grant, { scope: 'jira:comment' });
      const [ofMiddle, ofBelow] = [await lead.refresh(middle.grant), await leaf.refresh(below.grant)];
      expect(heldTask(ofMiddle).scope).to.equal('jira:comment');
      expect([ofBelow.status, ofBelow.body]).to.deep.equal([
        400,
        {
          error: 'invalid_scope',
          error_description:
            'None of the requested scopes is held by the offer, by every task above and by every agent of the chain.',
        },
      ]);
    });

    it('end with the task above, each task once, and with the first reason for those below', async () => {
      const middle = await at.handOver(root, lead, started);
      const below = await at.handOver(lead, leaf, middle, { scope: 'jira:read' });
      const lines = await mandate.recorded(async () => {
        const { body } = await mandate.admin('DELETE', `/admin/tasks/${started.taskId}`);
        expect(body).to.include({ revoked_tasks: 3 });
      });
      expect(fieldsOf(lines, 'event', 'task_id', 'reason')).to.deep.equal([
        ['task.revoked', started.taskId, 'operator_kill_switch'],
        ['task.revoked', middle.taskId, 'parent_revoked'],
        ['task.revoked', below.taskId, 'parent_revoked'],
      ]);
      for (const token of [middle.token, below.token]) {
        expect(await mandate.introspect(token)).to.include({ active: false, revocation_reason: 'parent_revoked' });
      }
      expect((await leaf.refresh(below.grant)).body).to.include({ error: 'access_denied', reason: 'task_revoked' });
    });

    it('stop at a disabled agent above, without naming it', async () => {
      const agents = [await mandate.agent(DEEP)];
      const [child] = agents as [RegisteredAgent];
      const parent = await mandate.agent({ ...DEEP, delegates_to: [child.id] });
      const task = heldTask(await parent.exchange());
      const below = await at.handOver(parent, child, task);
      await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { enabled: false });
      expect(await mandate.introspect(below.token)).to.deep.equal({
        active: false,
        revocation_reason: 'ancestor_disabled',
      });
      const refused = await child.refresh(below.grant);
      expect(refused.body).to.include({ error: 'access_denied', reason: 'ancestor_disabled' });
      expect(refused.text).to.not.include(parent.id);
      await mandate.admin('PATCH', `/admin/agents/${parent.id}`, { enabled: true });
      expect((await child.refresh(below.grant)).status).to.equal(200);
    });

    it('reach an instance of the same agent, if its registration names it', async () => {
      const own = await mandate.agent(DEEP);
      await mandate.admin('PATCH', `/admin/agents/${own.id}`, { delegates_to: [own.id] });
      const task = heldTask(await own.exchange({ actor_token: own.assertion({ instance: 'main' }) }));
      const offer = await at.offer(own, own, task.grant, { actor_token: own.assertion({ instance: 'main' }) });
      const below = heldTask(await at.take(own, offer, { actor_token: own.assertion({ instance: 'run-7' }) }));
      const subject = `agent:${own.id}`;
      expect(decodeJwt(below.token).act).to.deep.equal({
        sub: subject,
        instance: 'run-7',
        depth: 2,
        act: { sub: subject, instance: 'main', depth: 1 },
      });
      await mandate.admin('PATCH', `/admin/agents/${own.id}`, { delegates_to: [] });
      expect((await own.refresh(below.grant)).body).to.include({ reason: 'delegation_not_allowed' });
      expect((await own.refresh(task.grant)).status, 'the task above goes on').to.equal(200);
    });

    it('do not begin, and are not renewed, while the setting is off; what runs ends as before', async () => {
      const below = await at.handOver(root, lead, started);
      const off = await mandate.another({ 'Service:Delegation:Enabled': 'false' });
      const lines = await mandate.recorded(async () => {
        const refused = await off.post('/oauth2/token', lead.refreshForm(below.grant));
        expect(refused.body).to.include({ error: 'access_denied', reason: 'delegation_not_allowed' });
      });
      expect(fieldsOf(lines, 'event', 'reason', 'task_id')).to.deep.equal([
        ['token.denied', 'delegation_not_allowed', below.taskId],
      ]);
      const there = delegationAt(off);
      expect((await there.ask(root, lead.id, started.grant)).body.error_description).to.match(
        /subject_token_type must/,
      );
      expect(await off.introspect(below.token)).to.include({ active: true });
      expect((await off.admin('DELETE', `/admin/tasks/${started.taskId}`)).body).to.include({ revoked_tasks: 2 });
      expect(await off.introspect(below.token)).to.include({ active: false, revocation_reason: 'parent_revoked' });
      await off.stop();
    });

    it('begin for a person who is back after a logout, which ended the task above and its offers', async () => {
      const logout = 'Service:UpstreamIdp:BackchannelLogout';
      const on = { [`${logout}:Audience`]: mandate.provider.clientId, [`${logout}:RefuseLoggedOut`]: 'true' };
      const refusing = await mandate.another(on);
      const there = delegationAt(refusing);
      const sub = 'logged-out';
      const before = await at.offer(root, lead, heldTask(await root.exchangeFor({ sub })).grant);
      const iat = mandate.clock.seconds();
      const logout_token = mandate.provider.signLogoutToken({ sub, iat, exp: iat + 60 });
      expect((await refusing.post('/backchannel-logout', { logout_token })).status).to.equal(200);
      const lines = await mandate.recorded(async () => {
        expect((await there.take(lead, before)).body).to.include({ error: 'access_denied', reason: 'parent_ended' });
      });
      expect(fieldsOf(lines, 'event', 'reason', 'sponsor')).to.deep.equal([['token.denied', 'parent_ended', sub]]);
      mandate.clock.advance(2);
      heldTask(await there.take(lead, await at.offer(root, lead, heldTask(await root.exchangeFor({ sub })).grant)));
      await refusing.stop();
    });

    it('are taken up at another replica after a rotation of keys, and not once the key has left', async () => {
      const next = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
      const [old, own] = [mandate.settings['Service:Signing:Keys'][0]?.Pem?.reveal() ?? '', signingKeySettings(next)];
      const offers = [await at.offer(root, lead, started.grant), await at.offer(root, lead, started.grant)];
      const rotated = await mandate.another({
        ...own,
        'Service:Signing:Keys:0:Kid': 'next',
        'Service:Signing:Keys:1:Pem': old,
        'Service:Signing:ActiveKid': 'next',
      });
      const below = heldTask(await delegationAt(rotated).take(lead, offers[0] ?? ''));
      expect(decodeProtectedHeader(below.token).kid).to.equal('next');
      await rotated.stop();
      const without = await mandate.another(own);
      const lines = await mandate.recorded(async () => {
        expect((await delegationAt(without).take(lead, offers[1] ?? '')).body).to.include({ error: 'invalid_grant' });
      });
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', 'delegation_offer_unknown']]);
      await without.stop();
    });

    it('are refused at another resource, as the agent’s own refresh is', async () => {
      for (const [answer, reason] of [
        [() => at.ask(root, lead.id, started.grant, { resource: WIKI }), 'audience_mismatch'],
        [async () => at.take(lead, await at.offer(root, lead, started.grant), { resource: WIKI }), 'audience_mismatch'],
      ] as const) {
        const lines = await mandate.recorded(async () => {
          expect((await answer()).body).to.include({ error: 'invalid_target' });
        });
        expect(lines.at(-1)).to.include({ event: 'token.denied', reason });
      }
    });
  });
}
