/** Each check of a client assertion. A refusal names the agent only once the signature has verified. */

import { expect } from 'chai';
import { agentKeys } from '../../../adapters/jose/agent-keys.ts';
import { strangersWait } from '../../../adapters/jose/key-waits.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { authenticateAgent } from '../../../application/authentication/authenticate-agent.ts';
import type { Agent } from '../../../domain/agents/agent.ts';
import { instantFromSeconds, toSeconds } from '../../../domain/instant.ts';
import { type AgentKey, makeAgentKey } from '../../support/agents/agent-key.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { anAgent, NOON } from '../../support/domain-fixtures.ts';
import { agreeing, movedClock } from '../../support/moved-clock.ts';

const ISSUER = 'https://mandate.example';
const NOW = toSeconds(NOON);
const ABOUT = { audience: 'https://jira.example', scope: 'jira:read' };

describe('authenticating an agent', () => {
  let key: AgentKey;
  let stranger: AgentKey;
  let agent: Agent;
  let revision = 0;
  /** The agents that were looked up. */
  let sought: string[];
  before(async () => {
    [key, stranger] = await Promise.all([makeAgentKey(), makeAgentKey()]);
  });
  beforeEach(() => {
    revision += 1;
    agent = anAgent({ keys: { kind: 'inline', jwks: key.jwks as never }, revision });
    sought = [];
  });

  const keys = agentKeys(httpNetwork(), movedClock(), capturedLog()).at(strangersWait());
  const authenticate = (
    assertion: string | undefined,
    more: { readonly clientId?: string; readonly disabledToo?: boolean } = {},
  ) =>
    authenticateAgent(
      {
        agents: {
          async find(agentId) {
            sought.push(agentId);
            return agentId === agent.agentId ? agent : undefined;
          },
        },
        agentKeys: keys,
        clock: { now: () => NOON },
        sharedTime: agreeing({ now: () => NOON }),
        audiences: [ISSUER, `${ISSUER}/oauth2/token`],
      },
      { assertion, clientId: more.clientId },
      { about: ABOUT, ...(more.disabledToo === undefined ? {} : { disabledToo: more.disabledToo }) },
    );
  const signed = (claims: Readonly<Record<string, unknown>> = {}, header: Readonly<Record<string, unknown>> = {}) =>
    key.signAssertion(agent.agentId, { aud: ISSUER, jti: 'a-jti', iat: NOW, exp: NOW + 60, ...claims }, header);
  const SPENT = {
    jti: 'a-jti',
    forgetAt: instantFromSeconds(NOW + 120),
    latestForgetAt: instantFromSeconds(NOW + 360),
  };

  it('returns the agent, the assertion to mark as used, and the instance', async () => {
    const { agentId } = agent;
    expect(await authenticate(signed({ instance: 'pod-7' }), { clientId: agentId })).to.deep.equal({
      kind: 'allowed',
      value: { agent, assertion: { agentId, ...SPENT }, provedBy: 'registration', instance: 'pod-7' },
    });
  });

  const anonymous: readonly (readonly [string, string, () => string | undefined])[] = [
    ['none is sent', 'actor_malformed', () => undefined],
    ['it is not a JWS', 'actor_malformed', () => 'a.b.c'],
    ['it is typed as a task token', 'actor_malformed', () => signed({}, { typ: 'at+jwt' })],
    ['it is typed as a logout token', 'actor_malformed', () => signed({}, { typ: 'logout+jwt' })],
    ['its alg is none', 'actor_unsupported_algorithm', () => signed({}, { alg: 'none' })],
    ['its alg is one that agents may not use', 'actor_unsupported_algorithm', () => signed({}, { alg: 'ES384' })],
    ['it has no iss', 'actor_issuer_subject_mismatch', () => signed({ iss: undefined })],
    ['it has no sub', 'actor_issuer_subject_mismatch', () => signed({ sub: undefined })],
    ['it is about another agent', 'actor_issuer_subject_mismatch', () => signed({ sub: 'other' })],
    ['no agent has its id', 'actor_unknown_agent', () => signed({ iss: 'nobody', sub: 'nobody' })],
    ['its id is not a valid agent_id', 'actor_unknown_agent', () => signed({ iss: 'A b', sub: 'A b' })],
    ['its kid is not registered', 'actor_unknown_key', () => signed({}, { kid: 'another' })],
    ['another key signed it', 'actor_invalid_signature', () => stranger.sign({ alg: 'ES256' }, claimsOf(signed()))],
  ];
  for (const [what, reason, assertion] of anonymous) {
    for (const enabled of [true, false]) {
      it(`refuses without naming the agent if ${what}${enabled ? '' : ', also for a disabled agent'}`, async () => {
        agent = { ...agent, enabled };
        expect(await authenticate(assertion())).to.deep.equal({ kind: 'denied', denial: { reason } });
      });
    }
  }

  it('looks up no agent for a malformed assertion, one about another agent, or one with another client_id', async () => {
    const early = anonymous.filter(([, reason]) => /malformed|unsupported_algorithm|mismatch/.test(reason));
    for (const [, , assertion] of early) await authenticate(assertion());
    await authenticate(signed({ iss: 'A b', sub: 'A b' }));
    await authenticate(signed(), { clientId: 'other' });
    expect(sought).to.deep.equal([]);
  });

  it('refuses a client_id that differs from the assertion’s', async () => {
    for (const clientId of ['other', agent.agentId.toUpperCase(), `agent:${agent.agentId}`]) {
      expect(await authenticate(signed(), { clientId })).to.deep.equal({
        kind: 'denied',
        denial: { reason: 'actor_client_id_mismatch' },
      });
    }
  });

  for (const [what, reason, claims] of [
    ['is for another audience', 'actor_wrong_audience', { aud: 'https://other.example' }],
    ['has expired', 'actor_expired', { iat: NOW - 200, exp: NOW - 60 }],
    ['lives too long', 'actor_lifetime_too_long', { exp: NOW + 301 }],
    ['has no jti', 'actor_missing_jti', { jti: undefined }],
  ] as const) {
    it(`names the agent once the signature has verified if its assertion ${what}, and leaves the assertion unused`, async () => {
      agent = { ...agent, enabled: false };
      expect(await authenticate(signed(claims))).to.deep.equal({
        kind: 'denied',
        denial: { reason, about: { ...ABOUT, agentId: agent.agentId } },
      });
    });
  }

  it('refuses a disabled agent with a valid assertion and uses the assertion up, unless disabledToo is set', async () => {
    agent = { ...agent, enabled: false };
    const { agentId } = agent;
    expect(await authenticate(signed())).to.deep.equal({
      kind: 'denied',
      denial: { reason: 'agent_disabled', about: { ...ABOUT, agentId }, assertion: { agentId, ...SPENT } },
    });
    expect((await authenticate(signed(), { disabledToo: true })).kind).to.equal('allowed');
  });
});

function claimsOf(token: string): object {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as object;
}
