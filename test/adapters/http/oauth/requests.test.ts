/** The parsers of OAuth requests: required parameters and limits, without a service. */

import { expect } from 'chai';
import type { OptionalParameters } from '../../../../adapters/http/oauth/optional-parameters.ts';
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

const OFF = {
  clientIsActor: false,
  audienceParameter: false,
  purpose: 'off',
  authorizationCode: false,
  delegation: false,
} as const;
const CLIENT_IS_ACTOR = { clientIsActor: true };
const AUDIENCE = { audienceParameter: true };
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
const authenticated: Parameters = { client_assertion_type: JWT_BEARER, client_assertion: 'an.assertion.here' };
const revocation: Parameters = {
  token: 'task_grant_x',
  client_assertion_type: JWT_BEARER,
  client_assertion: 'an.assertion.here',
};

function form(parameters: Parameters): ReadonlyMap<string, string> {
  return new Map(Object.entries(parameters).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
}

/** The reason and its detail; `undefined` when the parser accepted the request. */
function faultOf(outcome: Outcome<unknown>) {
  return outcome.kind === 'denied' ? [outcome.denial.reason, outcome.denial.detail] : undefined;
}

/** The request that the parser made of the form. @throws if it refused the form */
function requestOf(outcome: ReturnType<typeof token>) {
  if (outcome.kind === 'denied') throw new Error(outcome.denial.detail);
  return outcome.value.request;
}

const missing = (name: string) => `The parameter ${name} is missing.`;
const over = (name: string, length: number) => `The parameter ${name} is over ${length} characters.`;
const mustBe = (name: string, value: string) => `The parameter ${name} must be ${value}.`;
const BLANK = 'The parameter resource holds white space or control characters.';

const token = (parameters: Parameters, optional: Partial<OptionalParameters> = {}) =>
  parseTokenRequest(form(parameters), { ...OFF, ...optional });

describe('An exchange', () => {
  it('is read into a typed request', () => {
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
    ['no grant_type', { grant_type: undefined }, missing('grant_type')],
    ['no subject_token', { subject_token: undefined }, missing('subject_token')],
    ['no subject_token_type', { subject_token_type: undefined }, mustBe('subject_token_type', ACCESS_TOKEN_TYPE)],
    [
      'the subject_token_type of an ID token',
      { subject_token_type: 'urn:ietf:params:oauth:token-type:id_token' },
      mustBe('subject_token_type', ACCESS_TOKEN_TYPE),
    ],
    ['an actor_token and no actor_token_type', { actor_token_type: undefined }, mustBe('actor_token_type', JWT_TYPE)],
    ['another actor_token_type', { actor_token_type: ACCESS_TOKEN_TYPE }, mustBe('actor_token_type', JWT_TYPE)],
    [
      'another actor_token_type without an actor_token',
      { actor_token: undefined, actor_token_type: ACCESS_TOKEN_TYPE },
      mustBe('actor_token_type', JWT_TYPE),
    ],
    [
      'another requested_token_type',
      { requested_token_type: JWT_TYPE },
      mustBe('requested_token_type', ACCESS_TOKEN_TYPE),
    ],
    ['no resource', { resource: undefined }, missing('resource')],
    ['no scope', { scope: undefined }, missing('scope')],
    ['a subject_token over 16 KiB', { subject_token: 'x'.repeat(16_385) }, over('subject_token', 16384)],
    ['an actor_token over 8 KiB', { actor_token: 'x'.repeat(8193) }, over('actor_token', 8192)],
    ['a resource over 2048 characters', { resource: 'x'.repeat(2049) }, over('resource', 2048)],
    ['a resource with white space', { resource: 'https://jira.example\u00a0' }, BLANK],
    ['a resource with a NUL', { resource: 'https://jira.example/\0' }, BLANK],
    ['a client_id over 256 characters', { client_id: 'x'.repeat(257) }, over('client_id', 256)],
  ];
  for (const [what, changes, detail] of refused) {
    it(`is refused with ${what}`, () => {
      expect(faultOf(token({ ...exchange, ...changes }))).to.deep.equal(['invalid_request', detail]);
    });
  }

  for (const scope of ['  ', 'jira:read "x"', 'jira:read\tjira:comment', 'é', 'x'.repeat(8193)]) {
    it(`is refused with the scope ${JSON.stringify(scope.slice(0, 30))}`, () => {
      expect(faultOf(token({ ...exchange, scope }))?.[1]).to.match(/^The parameter scope must be 1 to 8192 characters/);
    });
  }

  for (const [what, changes] of [
    ['no actor_token and no actor_token_type', { actor_token: undefined, actor_token_type: undefined }],
    ['an actor_token_type and no actor_token', { actor_token: undefined }],
    ['the longest tokens', { subject_token: 'x'.repeat(16_384), actor_token: 'x'.repeat(8192) }],
    [
      'the longest resource, client_id and scope',
      { resource: 'x'.repeat(2048), client_id: 'x'.repeat(256), scope: 'x'.repeat(8192) },
    ],
    ['a requested_token_type', { requested_token_type: ACCESS_TOKEN_TYPE }],
    ['an unknown parameter', { audience: 'ignored' }],
  ] as const) {
    it(`is accepted with ${what}`, () => {
      expect(faultOf(token({ ...exchange, ...changes }))).to.equal(undefined);
    });
  }

  it('by a client_assertion alone is refused, unless the client may be the actor', () => {
    const byClient = { ...exchange, ...authenticated, actor_token: undefined, actor_token_type: undefined };
    const off = token({ ...byClient, subject_token: undefined }, { audienceParameter: true });
    expect(faultOf(off), 'before any other check').to.deep.equal(['invalid_request', missing('actor_token')]);
    expect(requestOf(token(byClient, CLIENT_IS_ACTOR))).to.deep.include({
      actorToken: 'an.assertion.here',
      clientAssertion: undefined,
    });
    // With an actor_token the client_assertion is the second one, as without the setting.
    const both = { ...exchange, ...authenticated };
    expect(requestOf(token(both, CLIENT_IS_ACTOR))).to.deep.equal(requestOf(token(both)));
  });

  for (const [what, changes, detail] of [
    ['no client_assertion_type', { client_assertion_type: undefined }, mustBe('client_assertion_type', JWT_BEARER)],
    ['another client_assertion_type', { client_assertion_type: JWT_TYPE }, mustBe('client_assertion_type', JWT_BEARER)],
    ['another actor_token_type', { actor_token_type: ACCESS_TOKEN_TYPE }, mustBe('actor_token_type', JWT_TYPE)],
    ['a client_assertion over 8 KiB', { client_assertion: 'x'.repeat(8193) }, over('client_assertion', 8192)],
  ] as const) {
    it(`of a client that is the actor is refused with ${what}`, () => {
      const byClient = { ...exchange, ...authenticated, actor_token: undefined, actor_token_type: undefined };
      expect(faultOf(token({ ...byClient, ...changes }, CLIENT_IS_ACTOR))).to.deep.equal(['invalid_request', detail]);
    });
  }

  it('may name a JWT by either of its types, if the client may be the actor, and gets the name that it asks for', () => {
    const either = `${ACCESS_TOKEN_TYPE} or ${JWT_TYPE}`;
    for (const subject_token_type of [ACCESS_TOKEN_TYPE, JWT_TYPE]) {
      for (const requested_token_type of [undefined, ACCESS_TOKEN_TYPE, JWT_TYPE]) {
        const named = token({ ...exchange, subject_token_type, requested_token_type }, CLIENT_IS_ACTOR);
        const issuedType = requested_token_type ?? ACCESS_TOKEN_TYPE;
        expect(named).to.deep.nested.include({ kind: 'allowed', 'value.issuedType': issuedType });
      }
    }
    const others = ['id_token', 'saml2', 'refresh_token', 'JWT', 'jwt ', ''].map(
      (name) => `urn:ietf:params:oauth:token-type:${name}`,
    );
    for (const name of ['subject_token_type', 'requested_token_type']) {
      for (const type of [...others, 'jwt']) {
        const fault = faultOf(token({ ...exchange, [name]: type }, CLIENT_IS_ACTOR));
        expect(fault, type).to.deep.equal(['invalid_request', mustBe(name, either)]);
      }
      // Without the setting, the contract names one type.
      expect(faultOf(token({ ...exchange, [name]: JWT_TYPE }, AUDIENCE))).to.deep.equal([
        'invalid_request',
        mustBe(name, ACCESS_TOKEN_TYPE),
      ]);
    }
  });

  it('is refused with another grant_type', () => {
    for (const grant_type of ['password', 'client_credentials', 'REFRESH_TOKEN', `${TOKEN_EXCHANGE} `]) {
      expect(faultOf(token({ ...exchange, grant_type })), grant_type).to.deep.equal([
        'unsupported_grant_type',
        undefined,
      ]);
    }
  });
});

describe('A refresh', () => {
  it('is read into a typed request, with or without a scope', () => {
    const request = {
      refreshToken: 'task_grant_x',
      resource: 'https://jira.example',
      scope: undefined,
      clientAssertion: 'an.assertion.here',
      clientId: undefined,
    };
    expect(token(refresh)).to.deep.equal({
      kind: 'allowed',
      value: { kind: 'refresh', issuedType: ACCESS_TOKEN_TYPE, request },
    });
    const narrower = token({ ...refresh, scope: 'jira:read' });
    expect(narrower).to.deep.nested.include({ 'value.request.scope': ['jira:read'] });
  });

  const refused: readonly (readonly [string, Parameters, string])[] = [
    ['no refresh_token', { refresh_token: undefined }, missing('refresh_token')],
    ['no resource', { resource: undefined }, missing('resource')],
    ['a resource over 2048 characters', { resource: 'x'.repeat(2049) }, over('resource', 2048)],
    ['a resource with a line feed', { resource: 'https://jira.example\n' }, BLANK],
    ['a client_id over 256 characters', { client_id: 'x'.repeat(257) }, over('client_id', 256)],
  ];
  for (const [what, changes, detail] of refused) {
    it(`is refused with ${what}`, () => {
      expect(faultOf(token({ ...refresh, ...changes }))).to.deep.equal(['invalid_request', detail]);
    });
  }

  it('is refused with a blank scope', () => {
    expect(faultOf(token({ ...refresh, scope: ' ' }))?.[0]).to.equal('invalid_request');
  });
});

for (const [title, parameters] of [
  ['An exchange', exchange],
  ['A refresh', refresh],
] as const) {
  describe(`${title} that may name its resource by audience`, () => {
    const OTHER = 'https://wiki.example';

    it('has the resource that audience names, also beside an equal resource', () => {
      for (const resource of [undefined, OTHER]) {
        const request = requestOf(token({ ...parameters, resource, audience: OTHER }, AUDIENCE));
        expect(request).to.deep.equal(requestOf(token({ ...parameters, resource: OTHER })));
      }
    });

    for (const [what, changes, detail] of [
      [
        'an audience other than the resource',
        { audience: OTHER },
        'The parameters resource and audience must be equal.',
      ],
      [
        'an audience of 2049 characters',
        { resource: undefined, audience: 'x'.repeat(2049) },
        'The parameter audience is over 2048 characters.',
      ],
      [
        'a line feed in the audience',
        { resource: undefined, audience: `${OTHER}\n` },
        'The parameter audience holds white space or control characters.',
      ],
    ] as const) {
      it(`is refused with ${what}`, () => {
        expect(faultOf(token({ ...parameters, ...changes }, AUDIENCE))).to.deep.equal(['invalid_request', detail]);
      });
    }

    it('ignores audience unless the setting is on', () => {
      expect(requestOf(token({ ...parameters, audience: OTHER }, CLIENT_IS_ACTOR))).to.deep.equal(
        requestOf(token(parameters)),
      );
      expect(faultOf(token({ ...parameters, resource: undefined, audience: OTHER }, CLIENT_IS_ACTOR))).to.deep.equal([
        'invalid_request',
        missing('resource'),
      ]);
    });
  });
}

describe('A request that names neither resource nor audience', () => {
  it('is refused at an exchange, and means the audience of its task at a refresh', () => {
    expect(faultOf(token({ ...exchange, resource: undefined }, AUDIENCE))?.[1]).to.equal(missing('resource'));
    expect(requestOf(token({ ...refresh, resource: undefined }, AUDIENCE))).to.deep.include({ resource: undefined });
  });
});

describe('A redemption of a code', () => {
  const code: Parameters = {
    grant_type: 'authorization_code',
    code: 'mandate_code_x',
    code_verifier: 'v',
    client_id: 'editor',
  };
  const DOOR = { authorizationCode: true };

  it('is read into a typed request', () => {
    expect(requestOf(token(code, DOOR))).to.deep.equal({
      code: 'mandate_code_x',
      verifier: 'v',
      redirectUri: undefined,
      resource: undefined,
      clientAssertion: undefined,
      clientId: 'editor',
    });
    const more = { ...code, ...authenticated, redirect_uri: 'a://b', resource: 'https://jira.example' };
    expect(requestOf(token(more, DOOR))).to.deep.include({
      redirectUri: 'a://b',
      resource: 'https://jira.example',
      clientAssertion: 'an.assertion.here',
    });
  });

  it('is no grant type without Service:Authorize, with the sentence of before', () => {
    expect(faultOf(token(code))).to.deep.equal(['unsupported_grant_type', undefined]);
    expect(faultOf(token({ grant_type: 'password' }, DOOR))?.[1]).to.include('authorization_code');
  });

  it('is refused without its code or verifier, and with a parameter that is too long', () => {
    for (const name of ['code', 'code_verifier']) {
      expect(faultOf(token({ ...code, [name]: undefined }, DOOR))).to.deep.equal(['invalid_request', missing(name)]);
    }
    for (const [name, limit] of [
      ['code', 256],
      ['client_id', 2048],
      ['resource', 2048],
    ] as const) {
      const fault = faultOf(token({ ...code, [name]: 'x'.repeat(limit + 1) }, DOOR));
      expect(fault).to.deep.equal(['invalid_request', over(name, limit)]);
    }
    expect(faultOf(token({ ...code, client_assertion: 'a.b.c' }, DOOR))?.[1]).to.include('client_assertion_type');
  });

  it('lets a refresh leave out its resource, which only a task of its person may', () => {
    const asked = requestOf(token({ ...refresh, resource: undefined }, DOOR));
    expect(asked).to.deep.include({ resource: undefined, needsResource: true });
    expect(requestOf(token(refresh, DOOR))).not.to.have.property('needsResource');
    const lax = { ...DOOR, ...AUDIENCE };
    expect(requestOf(token({ ...refresh, resource: undefined }, lax))).not.to.have.property('needsResource');
  });
});

describe('A revocation or introspection', () => {
  it('is read into a typed request', () => {
    expect(parseRevocation(form({ ...revocation, client_id: 'jira-triage' }), OFF)).to.deep.equal({
      kind: 'allowed',
      value: { token: 'task_grant_x', clientAssertion: 'an.assertion.here', clientId: 'jira-triage' },
    });
    expect(parseIntrospection(form({ token: 'a.b.c', token_type_hint: 'anything' }))).to.deep.equal({
      kind: 'allowed',
      value: 'a.b.c',
    });
  });

  it('is refused without a token', () => {
    for (const outcome of [
      parseIntrospection(form({})),
      parseRevocation(form({ ...revocation, token: undefined }), OFF),
    ]) {
      expect(faultOf(outcome)).to.deep.equal(['invalid_request', missing('token')]);
    }
  });

  it('is refused with an unknown token_type_hint', () => {
    for (const token_type_hint of ['access_token', 'refresh_token']) {
      expect(faultOf(parseRevocation(form({ ...revocation, token_type_hint }), OFF))).to.equal(undefined);
    }
    for (const token_type_hint of ['id_token', 'ACCESS_TOKEN', ACCESS_TOKEN_TYPE]) {
      expect(faultOf(parseRevocation(form({ ...revocation, token_type_hint }), OFF))?.[0]).to.equal(
        'unsupported_token_type',
      );
    }
  });

  it('is refused with a client_id over 256 characters', () => {
    expect(faultOf(parseRevocation(form({ ...revocation, client_id: 'x'.repeat(257) }), OFF))).to.deep.equal([
      'invalid_request',
      over('client_id', 256),
    ]);
  });
});

for (const [title, parse] of [
  ['a refresh', (parameters: Parameters) => token({ ...refresh, ...parameters })],
  ['a revocation', (parameters: Parameters) => parseRevocation(form({ ...revocation, ...parameters }), OFF)],
] as const) {
  describe(`The client assertion of ${title}`, () => {
    const wrongType = ['invalid_request', mustBe('client_assertion_type', JWT_BEARER)];
    for (const [what, parameters] of [
      ['without its type', { client_assertion_type: undefined }],
      ['with another type', { client_assertion_type: JWT_TYPE }],
      ['when only a wrong type is given', { client_assertion: undefined, client_assertion_type: JWT_TYPE }],
    ] as const) {
      it(`is refused ${what}`, () => {
        expect(faultOf(parse(parameters))).to.deep.equal(wrongType);
      });
    }

    it('is accepted with 8 KiB, and refused with one character more', () => {
      expect(faultOf(parse({ client_assertion: 'x'.repeat(8192) }))).to.equal(undefined);
      expect(faultOf(parse({ client_assertion: 'x'.repeat(8193) }))).to.deep.equal([
        'invalid_request',
        over('client_assertion', 8192),
      ]);
    });

    it('may be absent, because the use case refuses an unauthenticated client', () => {
      const without = { client_assertion: undefined, client_assertion_type: undefined };
      expect(faultOf(parse(without))).to.equal(undefined);
      expect(faultOf(parse({ client_assertion: undefined }))).to.equal(undefined);
    });
  });
}
