/** Hand-overs with the agent library: three agents, each with its own key, and the running service. */

import { inspect } from 'node:util';
import { expect } from 'chai';
import { decodeJwt } from 'jose';
import {
  type Agent,
  createAgent,
  NotNow,
  type Offer,
  Refused,
  TaskOver,
} from '../../../../adapters/sdk/agent/agent.ts';
import { sqliteFile } from '../../../support/databases.ts';
import { fieldsOf, JIRA, type Mandate, type RegisteredAgent, startMandate, WIKI } from '../../../support/mandate.ts';
import { thrownBy } from '../../../support/thrown-by.ts';

const TOKEN_TYPE = 'urn:ietf:params:oauth:token-type';
const READ = ['jira:read'];
const BOTH = ['jira:read', 'jira:comment'];

describe('Hand-overs with the agent library', () => {
  let mandate: Mandate;
  let registered: Readonly<Record<'root' | 'lead' | 'leaf', RegisteredAgent>>;
  let root: Agent;
  let lead: Agent;
  let leaf: Agent;
  let sent: URLSearchParams[];
  const toLead = { to: '', scope: BOTH };
  /** Replaces the answer of the service. */
  let answer: (() => Response) | undefined;

  before(async () => {
    const settings = { 'Service:Delegation:Enabled': 'true', 'Service:Delegation:MaxDepth': '3' };
    mandate = await startMandate({ database: sqliteFile, settings });
    // The end of an offer is compared to the second.
    mandate.clock.standStill();
    const deep = { max_delegation_depth: 3, high_risk_audiences: [] };
    const leaf = await mandate.agent({ ...deep, allowed_scopes: READ });
    const lead = await mandate.agent({ ...deep, delegates_to: [leaf.id] });
    registered = { root: await mandate.agent({ ...deep, delegates_to: [lead.id] }), lead, leaf };
  });
  after(() => mandate.stop());
  beforeEach(() => {
    toLead.to = registered.lead.id;
    sent = [];
    answer = undefined;
    [root, lead, leaf] = [agentOf('root'), agentOf('lead'), agentOf('leaf')];
  });

  const agentOf = (name: keyof typeof registered): Agent =>
    createAgent({
      issuer: mandate.issuer,
      agentId: registered[name].id,
      key: { jwk: { ...registered[name].key.privateJwk } },
      instance: `${name}-1`,
      patienceMs: 1,
      fetch: async (input, init) => {
        sent.push(new URLSearchParams(String(init?.body)));
        return answer?.() ?? fetch(String(input).replace(mandate.issuer, mandate.url), init);
      },
      clock: { now: () => mandate.clock.seconds() * 1000, sleep: async () => undefined, random: () => 0 },
    });
  const start = (scope = BOTH) =>
    root.startTask({ subjectToken: registered.root.subjectToken(), resource: JIRA, scope });
  const active = async (token: string) => mandate.introspect(token);
  const refusal = async (act: Promise<unknown>) => {
    const error = await thrownBy(act);
    expect(error).to.be.instanceOf(Refused);
    const { error: code, reason } = error as Refused;
    return [code, reason];
  };

  it('begin a task of the other agent, for the same person, with the chain in its token; it renews itself and ends', async () => {
    const task = await start();
    const offer = await task.handOver(toLead);
    expect([offer.scope, offer.expiresAt.getTime()]).to.deep.equal([BOTH, (mandate.clock.seconds() + 60) * 1000]);
    const child = await lead.takeUp(offer.text, { scope: READ });
    expect([child.resource, child.scope, child.expiresAt]).to.deep.equal([JIRA, READ, task.expiresAt]);
    const first = await child.token();
    const claims = decodeJwt(first);
    expect(claims.sub).to.equal('ada');
    expect(claims.act).to.deep.equal({
      sub: `agent:${registered.lead.id}`,
      instance: 'lead-1',
      depth: 2,
      act: { sub: `agent:${registered.root.id}`, instance: 'root-1', depth: 1 },
    });
    mandate.clock.advance(200);
    const renewed = await child.token();
    expect(renewed).not.to.equal(first);
    expect((await active(renewed)).active).to.equal(true);
    await child.end();
    expect((await active(renewed)).active).to.equal(false);
    expect((await active(await task.token())).active).to.equal(true);
  });

  it('send the requests of the specification, and neither the token of the person nor that of the task', async () => {
    const task = await start(READ);
    const token = await task.token();
    sent = [];
    const { text } = await task.handOver({ ...toLead, resource: JIRA, scope: READ });
    await lead.takeUp(text, { purpose: 'Read the issue' });
    const [asked, taken] = sent.map((form) => Object.fromEntries(form));
    const { subject_token: grant, actor_token: byRoot, ...offering } = asked ?? {};
    expect(offering).to.deep.equal({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token_type: `${TOKEN_TYPE}:refresh_token`,
      actor_token_type: `${TOKEN_TYPE}:jwt`,
      requested_token_type: `${TOKEN_TYPE}:jwt`,
      audience: `agent:${registered.lead.id}`,
      resource: JIRA,
      scope: 'jira:read',
    });
    const { actor_token: byLead, ...taking } = taken ?? {};
    expect(taking).to.deep.equal({
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: text,
      subject_token_type: `${TOKEN_TYPE}:jwt`,
      actor_token_type: `${TOKEN_TYPE}:jwt`,
      requested_token_type: `${TOKEN_TYPE}:access_token`,
      resource: JIRA,
      scope: 'jira:read',
      purpose: 'Read the issue',
    });
    expect(grant).to.match(/^task_grant_/);
    expect([byRoot, byLead].map((assertion) => decodeJwt(assertion ?? '').instance)).to.deep.equal([
      'root-1',
      'lead-1',
    ]);
    expect(JSON.stringify(sent.map(String))).not.to.include(token);
  });

  it('go on from a task that was handed over, and one end of the first task ends all', async () => {
    const task = await start();
    const child = await lead.takeUp((await task.handOver(toLead)).text);
    const leafOffer = await child.handOver({ to: registered.leaf.id, scope: BOTH });
    // The registration of the third agent has one of the two scopes.
    const grandchild = await leaf.takeUp(leafOffer.text);
    expect(grandchild.scope).to.deep.equal(READ);
    const token = await grandchild.token();
    expect((decodeJwt(token).act as { readonly depth: number }).depth).to.equal(3);
    const lines = await mandate.recorded(() => task.end());
    expect(fieldsOf(lines, 'event', 'task_id', 'reason')).to.have.deep.members([
      ['task.revoked', task.id, 'client_revoked'],
      ['task.revoked', child.id, 'parent_revoked'],
      ['task.revoked', grandchild.id, 'parent_revoked'],
    ]);
    expect((await active(token)).active).to.equal(false);
    mandate.clock.advance(200);
    expect(await thrownBy(grandchild.token()))
      .to.be.instanceOf(TaskOver)
      .with.property('reason', 'task_revoked');
  });

  it('follow a narrowing of the task above at the next renewal', async () => {
    const task = await start();
    const child = await lead.takeUp((await task.handOver(toLead)).text);
    await task.narrow(READ);
    expect(child.scope).to.deep.equal(BOTH);
    mandate.clock.advance(200);
    await child.token();
    expect(child.scope).to.deep.equal(READ);
  });

  it('wait for a narrowing under way, and offer no scope that was given up', async () => {
    const task = await start();
    const narrowing = task.narrow(READ);
    sent = [];
    expect(await refusal(task.handOver(toLead))).to.deep.equal(['invalid_scope', 'scope_given_up']);
    expect(sent.map((form) => form.get('grant_type'))).to.deep.equal(['refresh_token']);
    await narrowing;
    expect((await task.handOver({ ...toLead, scope: READ })).scope).to.deep.equal(READ);
  });

  it('throw the refusals of the control plane with their reason, and each has its record', async () => {
    const task = await start();
    const { text } = await task.handOver(toLead);
    const refusals: readonly (readonly [string, () => Promise<unknown>, readonly (string | undefined)[]])[] = [
      [
        'delegation_not_allowed',
        () => task.handOver({ to: registered.leaf.id, scope: READ }),
        ['access_denied', 'delegation_not_allowed'],
      ],
      ['audience_mismatch', () => task.handOver({ ...toLead, resource: WIKI }), ['invalid_target', undefined]],
      ['scope_widened', () => task.handOver({ ...toLead, scope: ['jira:admin'] }), ['invalid_scope', undefined]],
      ['delegation_not_for_agent', () => leaf.takeUp(text), ['invalid_grant', undefined]],
    ];
    for (const [recorded, act, shown] of refusals) {
      const lines = await mandate.recorded(async () => expect(await refusal(act()), recorded).to.deep.equal(shown));
      expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([['token.denied', recorded]]);
    }
    // A refused offer does not end the task, and a refused take-up does not spend the offer.
    await task.token();
    await lead.takeUp(text);
    const lines = await mandate.recorded(async () => {
      expect(await refusal(lead.takeUp(text))).to.deep.equal(['invalid_grant', undefined]);
    });
    expect(fieldsOf(lines, 'reason')).to.deep.equal([['delegation_offer_spent']]);
  });

  it('end the task for the agent if the refusal of an offer says that it is over', async () => {
    const task = await start();
    await mandate.admin('DELETE', `/admin/tasks/${task.id}`);
    expect(await thrownBy(task.handOver(toLead)))
      .to.be.instanceOf(TaskOver)
      .with.property('reason', 'task_revoked');
    sent = [];
    expect(await thrownBy(task.handOver(toLead))).to.be.instanceOf(TaskOver);
    expect(await thrownBy(task.token())).to.be.instanceOf(TaskOver);
    expect(sent).to.deep.equal([]);
  });

  it('end the task below for its agent if an agent above it is disabled', async () => {
    const child = await lead.takeUp((await (await start()).handOver(toLead)).text);
    await mandate.admin('PATCH', `/admin/agents/${registered.root.id}`, { enabled: false });
    mandate.clock.advance(200);
    try {
      expect(await thrownBy(child.token()))
        .to.be.instanceOf(TaskOver)
        .with.property('reason', 'ancestor_disabled');
    } finally {
      await mandate.admin('PATCH', `/admin/agents/${registered.root.id}`, { enabled: true });
    }
  });

  it('end the task below for its agent if the registrations no longer allow the chain, and say why', async () => {
    const change = (body: object) => mandate.admin('PATCH', `/admin/agents/${registered.root.id}`, body);
    for (const [taken, given, reason] of [
      [{ delegates_to: [] }, { delegates_to: [registered.lead.id] }, 'delegation_not_allowed'],
      [{ max_delegation_depth: 1 }, { max_delegation_depth: 3 }, 'delegation_depth_exceeded'],
    ] as const) {
      const child = await lead.takeUp((await (await start()).handOver(toLead)).text);
      await change(taken);
      mandate.clock.advance(200);
      const error = await thrownBy(child.token());
      await change(given);
      expect(error).to.be.instanceOf(TaskOver).with.property('reason', reason);
    }
  });

  it('send nothing for wrong arguments, and for a text that is no offer', async () => {
    const task = await start();
    sent = [];
    const wrong: readonly (readonly [() => Promise<unknown>, RegExp])[] = [
      [
        () => task.handOver({ ...toLead, to: 'agent:x' }),
        /task\.handOver: to must be the id of an agent, without agent: before it/,
      ],
      [() => task.handOver({ ...toLead, scope: [] }), /scope must be a list of at least one scope/],
      [() => task.handOver({ ...toLead, resource: 'jira' }), /resource must be an absolute/],
      [() => task.handOver({ ...toLead, audience: 'x' } as never), /audience is not an option/],
      [() => lead.takeUp({ text: 'a.b.c' } as never), /agent\.takeUp: offer must be a text/],
      [() => lead.takeUp('a.b.c', { scope: [] }), /scope must be a list of at least one scope/],
      [() => lead.takeUp('a.b.c', { resource: JIRA } as never), /resource is not an option/],
    ];
    for (const [act, message] of wrong) {
      expect(await thrownBy(act()))
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.matches(message);
    }
    const jws = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2ln`;
    const unreadable = [
      'secret',
      'secret.b.c',
      jws([]),
      jws({ resource: JIRA }),
      jws({ scope: 'jira:read' }),
      jws({ resource: 'jira', scope: 'jira:read' }),
      jws({ resource: JIRA, scope: '' }),
      jws({ resource: JIRA, scope: 'a"b' }),
      jws({ resource: 7, scope: ['jira:read'] }),
    ];
    for (const text of unreadable) {
      const error = await thrownBy(lead.takeUp(text));
      expect(error).to.be.instanceOf(Refused).and.include({ error: 'invalid_grant', reason: 'offer_unreadable' });
      expect(inspect(error)).not.to.include(text);
    }
    expect(sent).to.deep.equal([]);
  });

  it('show no offer in an error, or when it is printed', async () => {
    const task = await start();
    const offer = await task.handOver(toLead);
    answer = () =>
      Response.json({ error: 'invalid_grant', error_description: offer.text.slice(0, 40) }, { status: 400 });
    const refused = await thrownBy(lead.takeUp(offer.text));
    answer = () => {
      throw new Error(`no route for ${offer.text}`);
    };
    const away = await thrownBy(lead.takeUp(offer.text));
    expect([refused instanceof Refused, away instanceof NotNow]).to.deep.equal([true, true]);
    const shown = [offer, refused, away, task, lead].flatMap((one) => [
      inspect(one, { depth: 9 }),
      JSON.stringify(one),
      String(one),
    ]);
    expect(shown.join()).not.to.include('eyJ');
    expect(offer.text).to.match(/^eyJ/);
  });

  it('accept no answer that is no offer, or that offers more than was asked for', async () => {
    const task = await start();
    const good = {
      access_token: 'eyJ.e30.c2ln',
      issued_token_type: `${TOKEN_TYPE}:jwt`,
      token_type: 'N_A',
      expires_in: 60,
      scope: 'jira:read',
    };
    const given = async (changes: object): Promise<Offer> => {
      answer = () => Response.json({ ...good, ...changes });
      return task.handOver({ ...toLead, scope: READ });
    };
    expect((await given({})).text).to.equal(good.access_token);
    for (const [changes, reason] of [
      // An access token must not be given to another agent.
      [{ token_type: 'Bearer' }, undefined],
      [{ token_type: undefined }, undefined],
      [{ access_token: undefined }, undefined],
      [{ access_token: 'opaque' }, undefined],
      [{ expires_in: '60' }, undefined],
      [{ expires_in: 0 }, undefined],
      [{ scope: undefined }, undefined],
      [{ scope: '' }, 'scope_wider_than_asked'],
      [{ scope: 'jira:read jira:comment' }, 'scope_wider_than_asked'],
    ] as const) {
      expect(await refusal(given(changes)), JSON.stringify(changes)).to.deep.equal(['unexpected_answer', reason]);
    }
  });
});
