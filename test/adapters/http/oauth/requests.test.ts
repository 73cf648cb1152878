/** From a form to a typed request: what is required and every limit, without a service behind it. */

import { expect } from 'chai';
import {
  ACCESS_TOKEN_TYPE,
  parseIntrospection,
  parseRevocation,
  parseTokenRequest,
  REFRESH_TOKEN,
  TOKEN_EXCHANGE,
} from '../../../../adapters/http/oauth/requests.ts';
import type { Outcome } from '../../../../application/outcome.ts';

type Parameters = Readonly<Record<string, string | undefined>>;

const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

const exchange: Parameters = {
  grant_type: TOKEN_EXCHANGE,
  subject_token: 'a.subject.token',
  subject_token_type: ACCESS_TOKEN_TYPE,
  actor_token: 'an.actor.token',
  actor_token_type: JWT_TYPE,
  resource: 'https://jira.example',
  scope: 'jira:read jira:comment',
};
const refresh: Parameters = {
  grant_type: REFRESH_TOKEN,
  refresh_token: 'task_grant_x',
  resource: 'https://jira.example',
  client_assertion_type: JWT_BEARER,
  client_assertion: 'an.assertion.here',
};
const revocation: Parameters = {
  token: 'task_grant_x',
  client_assertion_type: JWT_BEARER,
  client_assertion: 'an.assertion.here',
};

function form(parameters: Parameters): ReadonlyMap<string, string> {
  return new Map(Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** The reason and its detail; `undefined` when the request was read. */
function faultOf(outcome: Outcome<unknown>) {
  return outcome.kind === 'denied' ? [outcome.denial.reason, outcome.denial.detail] : undefined;
}

const token = (parameters: Parameters) => parseTokenRequest(form(parameters));

describe('the parameters of an exchange', () => {
  it('become a request', () => {
    const outcome = token({ ...exchange, client_id: 'jira-triage' });
    if (outcome.kind === 'denied' || outcome.value.kind !== 'exchange') throw new Error('not an exchange');
    expect(outcome.value.request).to.deep.include({
      subjectToken: 'a.subject.token',
      actorToken: 'an.actor.token',
      clientId: 'jira-triage',
      resource: 'https://jira.example',
      scope: ['jira:read', 'jira:comment'],
    });
  });

  const refused: readonly (readonly [string, Parameters, string])[] = [
    ['no grant_type', { grant_type: undefined }, 'The parameter grant_type is missing.'],
    ['no subject_token', { subject_token: undefined }, 'The parameter subject_token is missing.'],
    [
      'no subject_token_type',
      { subject_token_type: undefined },
      `The parameter subject_token_type must be ${ACCESS_TOKEN_TYPE}.`,
    ],
    [
      'an ID token',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      `The parameter subject_token_type must be ${ACCESS_TOKEN_TYPE}.`,
    ],
    [
      'an actor_token without a type',
      { actor_token_type: undefined },
      `The parameter actor_token_type must be ${JWT_TYPE}.`,
    ],
    [
      'an actor_token of another type',
      { actor_token_type: ACCESS_TOKEN_TYPE },
      `The parameter actor_token_type must be ${JWT_TYPE}.`,
    ],
    [
      'the type of an actor_token that is not there, when it is another',
      { actor_token: undefined, actor_token_type: ACCESS_TOKEN_TYPE },
      `The parameter actor_token_type must be ${JWT_TYPE}.`,
    ],
    [
      'another requested_token_type',
      { requested_token_type: JWT_TYPE },
      `The parameter requested_token_type must be ${ACCESS_TOKEN_TYPE}.`,
    ],
    ['no resource', { resource: undefined }, 'The parameter resource is missing.'],
    ['no scope', { scope: undefined }, 'The parameter scope is missing.'],
    [
      'a subject_token over 16 KiB',
      { subject_token: 'x'.repeat(16_385) },
      'The parameter subject_token is over 16384 characters.',
    ],
    [
      'an actor_token over 8 KiB',
      { actor_token: 'x'.repeat(8193) },
      'The parameter actor_token is over 8192 characters.',
    ],
    ['a resource over 2048', { resource: 'x'.repeat(2049) }, 'The parameter resource is over 2048 characters.'],
    [
      'a resource with white space',
      { resource: 'https://jira.example\u00a0' },
      'The parameter resource holds white space or control characters.',
    ],
    [
      'a resource with a NUL',
      { resource: 'https://jira.example/\0' },
      'The parameter resource holds white space or control characters.',
    ],
    ['a client_id over 256', { client_id: 'x'.repeat(257) }, 'The parameter client_id is over 256 characters.'],
  ];
  for (const [what, changes, detail] of refused) {
    it(`may not have ${what}`, () => {
      expect(faultOf(token({ ...exchange, ...changes }))).to.deep.equal(['invalid_request', detail]);
    });
  }

  for (const scope of ['  ', 'jira:read "x"', 'jira:read\tjira:comment', 'é', 'x'.repeat(8193)]) {
    it(`may not have the scope ${JSON.stringify(scope.slice(0, 30))}`, () => {
      expect(faultOf(token({ ...exchange, scope }))?.[1]).to.match(/^The parameter scope must be 1 to 8192 characters/);
    });
  }

  for (const [what, changes] of [
    ['no actor_token and no type of one', { actor_token: undefined, actor_token_type: undefined }],
    ['no actor_token beside its type', { actor_token: undefined }],
    ['the longest of everything', { subject_token: 'x'.repeat(16_384), actor_token: 'x'.repeat(8192) }],
    ['the longest names', { resource: 'x'.repeat(2048), client_id: 'x'.repeat(256), scope: 'x'.repeat(8192) }],
    ['a requested_token_type', { requested_token_type: ACCESS_TOKEN_TYPE }],
    ['what is unknown', { audience: 'ignored' }],
  ] as const) {
    it(`may have ${what}`, () => {
      expect(faultOf(token({ ...exchange, ...changes }))).to.equal(undefined);
    });
  }

  it('are of no other grant type', () => {
    for (const grant_type of ['password', 'client_credentials', 'REFRESH_TOKEN', `${TOKEN_EXCHANGE} `]) {
      expect(faultOf(token({ ...exchange, grant_type })), grant_type).to.deep.equal([
        'unsupported_grant_type',
        undefined,
      ]);
    }
  });
});

describe('the parameters of a refresh', () => {
  it('become a request, whose scope may be left out', () => {
    const request = {
      refreshToken: 'task_grant_x',
      resource: 'https://jira.example',
      scope: undefined,
      clientAssertion: 'an.assertion.here',
      clientId: undefined,
    };
    expect(token(refresh)).to.deep.equal({ kind: 'allowed', value: { kind: 'refresh', request } });
    const narrower = token({ ...refresh, scope: 'jira:read' });
    expect(narrower).to.deep.nested.include({ 'value.request.scope': ['jira:read'] });
  });

  const refused: readonly (readonly [string, Parameters, string])[] = [
    ['no refresh_token', { refresh_token: undefined }, 'The parameter refresh_token is missing.'],
    ['no resource', { resource: undefined }, 'The parameter resource is missing.'],
    ['a resource over 2048', { resource: 'x'.repeat(2049) }, 'The parameter resource is over 2048 characters.'],
    [
      'a resource with a line feed',
      { resource: 'https://jira.example\n' },
      'The parameter resource holds white space or control characters.',
    ],
    ['a client_id over 256', { client_id: 'x'.repeat(257) }, 'The parameter client_id is over 256 characters.'],
  ];
  for (const [what, changes, detail] of refused) {
    it(`may not have ${what}`, () => {
      expect(faultOf(token({ ...refresh, ...changes }))).to.deep.equal(['invalid_request', detail]);
    });
  }

  it('may not have a scope that is blank', () => {
    expect(faultOf(token({ ...refresh, scope: ' ' }))?.[0]).to.equal('invalid_request');
  });
});

describe('the parameters of a revocation and an introspection', () => {
  it('become a request', () => {
    expect(parseRevocation(form({ ...revocation, client_id: 'jira-triage' }))).to.deep.equal({
      kind: 'allowed',
      value: { token: 'task_grant_x', clientAssertion: 'an.assertion.here', clientId: 'jira-triage' },
    });
    expect(parseIntrospection(form({ token: 'a.b.c', token_type_hint: 'anything' }))).to.deep.equal({
      kind: 'allowed',
      value: 'a.b.c',
    });
  });

  it('need a token', () => {
    for (const outcome of [parseIntrospection(form({})), parseRevocation(form({ ...revocation, token: undefined }))]) {
      expect(faultOf(outcome)).to.deep.equal(['invalid_request', 'The parameter token is missing.']);
    }
  });

  it('may hint at one of the two kinds of token, and at no other', () => {
    for (const token_type_hint of ['access_token', 'refresh_token']) {
      expect(faultOf(parseRevocation(form({ ...revocation, token_type_hint })))).to.equal(undefined);
    }
    for (const token_type_hint of ['id_token', 'ACCESS_TOKEN', ACCESS_TOKEN_TYPE]) {
      expect(faultOf(parseRevocation(form({ ...revocation, token_type_hint })))?.[0]).to.equal(
        'unsupported_token_type',
      );
    }
  });

  it('may not have a client_id over 256', () => {
    expect(faultOf(parseRevocation(form({ ...revocation, client_id: 'x'.repeat(257) })))).to.deep.equal([
      'invalid_request',
      'The parameter client_id is over 256 characters.',
    ]);
  });
});

for (const [title, parse] of [
  ['a refresh', (parameters: Parameters) => token({ ...refresh, ...parameters })],
  ['a revocation', (parameters: Parameters) => parseRevocation(form({ ...revocation, ...parameters }))],
] as const) {
  describe(`the client assertion of ${title}`, () => {
    const wrongType = ['invalid_request', `The parameter client_assertion_type must be ${JWT_BEARER}.`];
    for (const [what, parameters] of [
      ['without its type', { client_assertion_type: undefined }],
      ['with another type', { client_assertion_type: JWT_TYPE }],
      ['not there, with another type', { client_assertion: undefined, client_assertion_type: JWT_TYPE }],
    ] as const) {
      it(`may not be ${what}`, () => {
        expect(faultOf(parse(parameters))).to.deep.equal(wrongType);
      });
    }

    it('may have 8 KiB and not a character more', () => {
      expect(faultOf(parse({ client_assertion: 'x'.repeat(8192) }))).to.equal(undefined);
      expect(faultOf(parse({ client_assertion: 'x'.repeat(8193) }))).to.deep.equal([
        'invalid_request',
        'The parameter client_assertion is over 8192 characters.',
      ]);
    });

    it('may be left out: the client then did not authenticate, which is for the use case to say', () => {
      const without = { client_assertion: undefined, client_assertion_type: undefined };
      expect(faultOf(parse(without))).to.equal(undefined);
      expect(faultOf(parse({ client_assertion: undefined }))).to.equal(undefined);
    });
  });
}
