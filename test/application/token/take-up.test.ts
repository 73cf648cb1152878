/** What a take-up accepts as an offer, without a database or HTTP: also of texts that the service's own key signed. */

import { expect } from 'chai';
import { findTaskOfOffer } from '../../../application/decisions/find.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import type { ChainedTask } from '../../../application/ports/tasks.ts';
import { takeUp } from '../../../application/token/take-up.ts';
import { makeOfferId, OFFER_TYPE, offerClaims } from '../../../domain/delegation/offer.ts';
import { makeTaskId } from '../../../domain/identifiers.ts';
import {
  type Instant,
  instantFromMicros,
  instantFromSeconds,
  plusSeconds,
  toSeconds,
} from '../../../domain/instant.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';
import { type AgentKey, makeAgentKey } from '../../support/agents/agent-key.ts';
import { agentIdOf, anAgent, aTask, NOON } from '../../support/domain-fixtures.ts';
import { newKeys } from '../../support/ledger-fixture.ts';
import { thrownBy } from '../../support/thrown-by.ts';

const ISSUER = 'https://mandate.example';
const OFFER_ID = makeOfferId('01M31S7W68TMK7WDX8YKPSYTEB');
const child = anAgent({ agentId: agentIdOf('wiki-writer') });
const parent = aTask({ taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTEA') });
const ancestor: ChainedTask = {
  task: parent,
  state: { kind: 'live' },
  scope: parent.scope,
  grantHash: 'above',
  agentEnabled: true,
};
const made = { issuer: ISSUER, offerId: OFFER_ID, task: parent, instance: undefined, scope: parent.scope, ttl: 60 };
const { claims } = offerClaims({ ...made, child: child.agentId, now: NOON });

describe('the offer of a take-up', () => {
  let key: AgentKey;
  let signingKeys: Awaited<ReturnType<typeof newKeys>>;
  let chain: readonly ChainedTask[];
  /** The person of the offer's task, by the deciding transaction. */
  let decided: string | undefined;
  /** The later of the two clocks. */
  let latest: Instant;
  before(async () => {
    [key, signingKeys] = await Promise.all([makeAgentKey(), newKeys()]);
  });
  beforeEach(() => {
    chain = [ancestor];
    decided = undefined;
    latest = plusSeconds(NOON, 1);
  });

  const signed = (changes: JsonObject = {}, type = OFFER_TYPE) => signingKeys.sign(type, { ...claims, ...changes });

  /** Presents it for another resource, which is refused last: `audience_mismatch` says that it is an offer. */
  async function present(offer: string) {
    const agents = { find: async () => child, confirm: async () => true, forget: () => undefined };
    const now = plusSeconds(NOON, 1);
    const service = {
      agentCache: () => agents,
      agentKeys: { verify: async () => ({ kind: 'verified' }) as const, isUsable: async () => true },
      signingKeys,
      tasks: { chain: async () => chain },
      decisions: {
        decide: async ({ name }: { readonly name: string }, { taskId }: { readonly taskId: string }) =>
          name === findTaskOfOffer.name && taskId === parent.taskId ? decided : undefined,
      },
      clock: { now: () => now },
      sharedTime: { earliest: async () => now, latest: async () => latest, undoubted: async () => now },
      audiences: [ISSUER],
      issuer: ISSUER,
    } as unknown as Parameters<typeof takeUp>[0];
    const seconds = toSeconds(NOON);
    const assertion = { aud: ISSUER, jti: 'a-jti', iat: seconds, exp: seconds + 60 };
    const actorToken = key.signAssertion(child.agentId, assertion);
    const acting = { actorToken, clientAssertion: undefined, clientId: undefined, purpose: undefined };
    const outcome = await takeUp(service, { ...acting, offer, resource: 'https://other.example', scope: ['a'] });
    if (outcome.kind === 'allowed') throw new Error('it was taken up');
    const { reason, about, assertion: used } = outcome.denial;
    expect(used).to.include({ jti: 'a-jti' });
    return { reason, sponsor: about?.sponsor, detail: about?.detail };
  }

  const detail = `offer=${OFFER_ID}&parent=${parent.taskId}`;

  it('is one that the service made for its task', async () => {
    expect(await present(await signed())).to.deep.equal({ reason: 'audience_mismatch', sponsor: 'ada', detail });
  });

  for (const type of ['at+jwt', 'JWT', 'logout+jwt', `application/${OFFER_TYPE}x`, '']) {
    it(`is none with the typ "${type}", whatever its claims`, async () => {
      const unknown = { reason: 'delegation_offer_unknown', sponsor: undefined, detail: undefined };
      expect(await present(await signed({}, type))).to.deep.equal(unknown);
    });
  }

  for (const [title, changes] of [
    ['of another issuer', { iss: 'https://other.example' }],
    ['for another person than that of its task', { sub: 'grace' }],
    ['of another resource than that of its task', { resource: 'https://other.example' }],
    ['with a scope that its task does not have', { scope: 'jira:read jira:admin' }],
    ['of another agent than that of its task', { act: { sub: 'agent:wiki-writer', depth: 1 } }],
    ['that lives for longer than any offer', { exp: toSeconds(NOON) + 301 }],
    ['with a claim that the service does not write', { client_id: 'agent:wiki-writer' }],
  ] as const) {
    it(`is none ${title}, also if the service's key signed it; the record names no person`, async () => {
      const unknown = { reason: 'delegation_offer_unknown', sponsor: undefined, detail };
      expect(await present(await signed(changes))).to.deep.equal(unknown);
    });
  }

  it('is none of a task that is not stored, until its time is up: then it has expired', async () => {
    chain = [];
    expect((await present(await signed())).reason).to.equal('delegation_offer_unknown');
    latest = plusSeconds(NOON, 61);
    expect((await present(await signed())).reason).to.equal('delegation_offer_expired');
  });

  it('is not refused if the deciding transaction finds the task that a plain read did not find', async () => {
    chain = [];
    decided = parent.sponsorKey;
    expect(await thrownBy(signed().then((offer) => present(offer)))).to.be.instanceOf(StorageUnavailable);
  });

  it('has expired if its time is up by the later of two clocks, to the second', async () => {
    const exp = instantFromSeconds(Number(claims.exp));
    latest = instantFromMicros(exp - 1);
    expect((await present(await signed())).reason).to.equal('audience_mismatch');
    latest = exp;
    expect(await present(await signed())).to.deep.equal({ reason: 'delegation_offer_expired', sponsor: 'ada', detail });
  });

  it('is for the named agent alone, also once it has expired', async () => {
    const other = await signed({ may_act: { sub: 'agent:jira-triage' } });
    latest = plusSeconds(NOON, 100);
    expect((await present(other)).reason).to.equal('delegation_not_for_agent');
  });
});
