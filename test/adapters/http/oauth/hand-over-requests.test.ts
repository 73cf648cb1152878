/** The parser of token exchanges that hand work to another agent: offers and take-ups (docs/sub-agents.md), without a service. */

import { expect } from 'chai';
import type { OptionalParameters } from '../../../../adapters/http/oauth/optional-parameters.ts';
import { ACCESS_TOKEN_TYPE, parseTokenRequest, TOKEN_EXCHANGE } from '../../../../adapters/http/oauth/requests.ts';

type Parameters = Readonly<Record<string, string | undefined>>;

const ON = {
  clientIsActor: false,
  audienceParameter: false,
  purpose: 'off',
  authorizationCode: false,
  delegation: true,
} as const;
const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const REFRESH_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:refresh_token';

const asBase64 = (json: object) => Buffer.from(JSON.stringify(json)).toString('base64url');
const jwt = (typ: string) => `${asBase64({ alg: 'ES256', typ, kid: 'one' })}.${asBase64({ sub: 'ada' })}.c2ln`;
const OFFER = jwt('delegation-offer+jwt');

const takeUp: Parameters = {
  grant_type: TOKEN_EXCHANGE,
  subject_token: OFFER,
  subject_token_type: JWT_TYPE,
  actor_token: 'an.actor.token',
  actor_token_type: JWT_TYPE,
  resource: 'https://jira.example',
  scope: 'jira:read',
};
const handOver: Parameters = {
  ...takeUp,
  subject_token: 'task_grant_x',
  subject_token_type: REFRESH_TOKEN_TYPE,
  requested_token_type: JWT_TYPE,
  audience: 'agent:wiki-writer',
};

function parsed(parameters: Parameters, optional: Partial<OptionalParameters> = {}) {
  const sent = Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  const outcome = parseTokenRequest(new Map(sent as [string, string][]), { ...ON, ...optional });
  return outcome.kind === 'denied' ? { kind: 'denied', ...outcome.denial } : outcome.value;
}

const common = {
  actorToken: 'an.actor.token',
  clientAssertion: undefined,
  clientId: undefined,
  resource: 'https://jira.example',
  scope: ['jira:read'],
};

describe('An exchange of a task grant', () => {
  it('asks for an offer to the agent that audience names', () => {
    const asked = { kind: 'hand_over', issuedType: JWT_TYPE };
    for (const audienceParameter of [false, true]) {
      expect(parsed(handOver, { audienceParameter })).to.deep.equal({
        ...asked,
        request: { ...common, grant: 'task_grant_x', child: 'wiki-writer' },
      });
    }
  });

  it('names the resource by resource alone, also where audience may name it elsewhere', () => {
    const fault = { kind: 'denied', reason: 'invalid_request', detail: 'The parameter resource is missing.' };
    for (const audienceParameter of [false, true]) {
      expect(parsed({ ...handOver, resource: undefined }, { audienceParameter })).to.include(fault);
    }
  });

  for (const [what, changes, detail] of [
    ['no audience', { audience: undefined }, 'The parameter audience is missing.'],
    ...['wiki-writer', 'agent:', 'agent:Wiki', 'Agent:wiki-writer', 'https://jira.example'].map(
      (audience) =>
        [`the audience "${audience}"`, { audience }, 'The parameter audience must be agent: and an agent_id.'] as const,
    ),
    ...[undefined, ACCESS_TOKEN_TYPE, REFRESH_TOKEN_TYPE].map(
      (requested_token_type) =>
        [
          `the requested_token_type ${requested_token_type}`,
          { requested_token_type },
          `The parameter requested_token_type must be ${JWT_TYPE}.`,
        ] as const,
    ),
    ['no scope', { scope: undefined }, 'The parameter scope is missing.'],
  ] as const) {
    it(`is refused with ${what}, whatever else is switched on`, () => {
      for (const optional of [{}, { clientIsActor: true, audienceParameter: true }]) {
        const fault = { kind: 'denied', reason: 'invalid_request', detail };
        expect(parsed({ ...handOver, ...changes }, optional)).to.include(fault);
      }
    });
  }
});

describe('An exchange of a JWT', () => {
  it('takes up an offer, and is none of a person’s token, whatever the text is', () => {
    for (const subject_token of [OFFER, jwt('at+jwt'), 'x']) {
      expect(parsed({ ...takeUp, subject_token })).to.deep.equal({
        kind: 'take_up',
        issuedType: ACCESS_TOKEN_TYPE,
        request: { ...common, offer: subject_token, purpose: undefined },
      });
    }
  });

  it('is of a person’s token too, if a person’s token may be called a JWT: only an offer calls itself one', () => {
    const kindOf = (subject_token: string) => parsed({ ...takeUp, subject_token }, { clientIsActor: true }).kind;
    expect([OFFER, jwt('application/delegation-offer+jwt')].map(kindOf)).to.deep.equal(['take_up', 'take_up']);
    expect([jwt('at+jwt'), jwt('JWT'), 'x'].map(kindOf)).to.deep.equal(['exchange', 'exchange', 'exchange']);
  });

  it('takes up no offer that is called an access token', () => {
    expect(parsed({ ...takeUp, subject_token_type: ACCESS_TOKEN_TYPE })).to.include({ kind: 'exchange' });
  });
});

describe('Without Service:Delegation:Enabled, an exchange', () => {
  for (const clientIsActor of [false, true]) {
    const types = clientIsActor ? `${ACCESS_TOKEN_TYPE} or ${JWT_TYPE}` : ACCESS_TOKEN_TYPE;
    const fault = {
      kind: 'denied',
      reason: 'invalid_request',
      detail: `The parameter subject_token_type must be ${types}.`,
    };

    it(`knows neither a grant nor an offer${clientIsActor ? ', where a client may be the actor' : ''}`, () => {
      const off = { delegation: false, clientIsActor };
      expect(parsed(handOver, off)).to.include(fault);
      if (clientIsActor) expect(parsed(takeUp, off)).to.include({ kind: 'exchange' });
      else expect(parsed(takeUp, off)).to.include(fault);
    });
  }
});
