/** Each fault of a request at the authorization endpoint, and which of several faults decides the answer. */

import { expect } from 'chai';
import { readAuthorization } from '../../../../adapters/http/authorize/request.ts';
import { queryParameters } from '../../../../adapters/http/message/head.ts';
import type { OptionalParameters } from '../../../../adapters/http/oauth/optional-parameters.ts';

const CHALLENGE = 'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM';
const GOOD = {
  response_type: 'code',
  client_id: 'jira-triage',
  redirect_uri: 'https://client.example/cb',
  state: 'a b&c=%',
  code_challenge: CHALLENGE,
  code_challenge_method: 'S256',
  resource: 'https://jira.example/mcp',
  scope: 'read write read',
  purpose: 'Clean up',
  prompt: 'consent unknown login',
};

const OFF: OptionalParameters = {
  clientIsActor: false,
  audienceParameter: false,
  purpose: 'off',
  authorizationCode: true,
  delegation: false,
};

function read(query: string, optional: Partial<OptionalParameters> = {}) {
  return readAuthorization(queryParameters(`/?${query}`), { ...OFF, ...optional });
}

function queryWith(changes: Record<string, string | undefined> = {}, more = ''): string {
  const given = Object.entries({ ...GOOD, ...changes }).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return `${new URLSearchParams(given)}${more}`;
}

describe('A request at the authorization endpoint', () => {
  it('is read with what it asks for', () => {
    const { request, ...rest } = read(queryWith(), { purpose: 'accept' });
    expect(rest).to.deep.equal({
      clientId: GOOD.client_id,
      redirectUri: GOOD.redirect_uri,
      state: GOOD.state,
    });
    expect(request).to.deep.equal({
      kind: 'allowed',
      value: {
        challenge: CHALLENGE,
        audience: GOOD.resource,
        scope: ['read', 'write'],
        purpose: 'Clean up',
        prompt: { login: true, none: false },
      },
    });
  });

  it('may leave out what has a default, and a parameter without a value is one that was left out', () => {
    const left = { redirect_uri: '', state: '', resource: undefined, scope: '', purpose: undefined, prompt: '' };
    expect(read(queryWith(left, '&response_mode=query&unknown=1'), { purpose: 'require' })).to.deep.equal({
      clientId: GOOD.client_id,
      redirectUri: undefined,
      state: undefined,
      request: {
        kind: 'allowed',
        value: {
          challenge: CHALLENGE,
          audience: undefined,
          scope: undefined,
          purpose: undefined,
          prompt: { login: false, none: false },
        },
      },
    });
  });

  it('names no usable client or redirect URI if one is repeated, malformed or too long', () => {
    for (const [query, member] of [
      [queryWith({}, '&client_id=jira-triage'), 'clientId'],
      [queryWith({ client_id: undefined }), 'clientId'],
      [queryWith({ client_id: undefined }, '&client_id=%ff'), 'clientId'],
      [queryWith({ client_id: 'a'.repeat(2049) }), 'clientId'],
      [queryWith({}, `&redirect_uri=${encodeURIComponent(GOOD.redirect_uri)}`), 'redirectUri'],
      [queryWith({}, '&redirect_uri='), 'redirectUri'],
      [queryWith({ redirect_uri: undefined }, '&redirect_uri=%C3'), 'redirectUri'],
    ] as const) {
      expect(read(query)[member], query).to.equal('');
    }
  });

  const long = 'x'.repeat(2049);
  /** Each has the faults of all rows below it, so the first one decides. The parameters that follow are repeated or malformed ones. */
  const faults: readonly (readonly [
    what: string,
    reason: string,
    sentence: RegExp | undefined,
    changes: Record<string, string | undefined>,
    more?: string,
  ])[] = [
    ['a long state', 'invalid_request', /state/, { state: long }],
    ['a malformed value', 'invalid_request', /well-formed/, {}, '&scope=%ff'],
    ['a malformed name', 'invalid_request', /well-formed/, {}, '&%c3%28=1'],
    ['several resources', 'audience_not_allowed', /one resource/, {}, '&resource=https%3A%2F%2Fother.example'],
    ['a repeated parameter', 'invalid_request', /scope is repeated/, {}, '&scope=read'],
    ['an unknown one, repeated', 'invalid_request', /^A parameter is repeated/, {}, '&x=1&x='],
    ['a request object', 'request_not_supported', undefined, { request: 'a.b.c' }],
    ['the address of one', 'request_uri_not_supported', undefined, { request_uri: 'urn:x' }],
    ['another response mode', 'invalid_request', /response_mode/, { response_mode: 'fragment' }],
    ['no response type', 'invalid_request', /response_type is missing/, { response_type: undefined }],
    ['another response type', 'unsupported_response_type', undefined, { response_type: 'code token' }],
    ['no challenge', 'code_challenge_missing', undefined, { code_challenge: undefined }],
    ['a plain challenge', 'code_challenge_missing', undefined, { code_challenge_method: 'plain' }],
    ['no method', 'code_challenge_missing', undefined, { code_challenge_method: undefined }],
    ['a challenge of 42 characters', 'invalid_request', /code_challenge/, { code_challenge: CHALLENGE.slice(1) }],
    ['one that is no SHA-256', 'invalid_request', /code_challenge/, { code_challenge: `${CHALLENGE.slice(1)}=` }],
    ['none beside another prompt', 'invalid_request', /prompt/, { prompt: 'none login' }],
    ['a resource with a space', 'invalid_request', /resource/, { resource: 'https://a b' }],
    ['a scope that is none', 'scope_intersection_empty', /The parameter scope must be/, { scope: 'read "' }],
    ['a purpose with a line', 'invalid_request', /purpose/, { purpose: 'a\nb' }],
  ];

  it('has one answer for each fault of the rest, in a fixed order', () => {
    let below: Record<string, string | undefined> = {};
    for (const [what, reason, sentence, changes, more] of faults.toReversed()) {
      const alone = read(queryWith(changes, more), { purpose: 'accept' });
      const among = read(queryWith({ ...below, ...changes }, more), { purpose: 'accept' });
      for (const { request, clientId, redirectUri } of [alone, among]) {
        expect([clientId, redirectUri], what).to.deep.equal([GOOD.client_id, GOOD.redirect_uri]);
        expect(request.kind, what).to.equal('denied');
        if (request.kind !== 'denied') continue;
        expect(request.denial.reason, what).to.equal(reason);
        if (sentence !== undefined) expect(request.denial.detail, what).to.match(sentence);
      }
      below = { ...below, ...changes };
    }
  });

  it('gets its state back with every fault but that of the state itself', () => {
    for (const [what, , , changes, more] of faults) {
      const { state } = read(queryWith(changes, more), { purpose: 'accept' });
      expect(state, what).to.equal(what === 'a long state' ? undefined : GOOD.state);
    }
    for (const more of ['&state=b', '&state=%ff']) {
      const { state, request } = read(queryWith({}, more));
      expect([state, request.kind]).to.deep.equal([undefined, 'denied']);
    }
    expect(read(queryWith({ state: 'x'.repeat(2048) })).request.kind).to.equal('allowed');
    // 2 KiB are bytes.
    expect(read(queryWith({ state: 'ü'.repeat(1025) })).request.kind).to.equal('denied');
  });

  it('reads audience and purpose as an exchange does: only where a setting adds them', () => {
    const audience = 'https://other.example';
    const asked = (changes: Record<string, string | undefined>, optional: Partial<OptionalParameters>) => {
      const { request } = read(queryWith(changes), optional);
      return request.kind === 'allowed' ? request.value : request.denial.detail;
    };
    const alone = { resource: undefined, audience };
    expect(asked(alone, {})).to.include({ audience: undefined, purpose: undefined });
    expect(asked(alone, { audienceParameter: true })).to.include({ audience });
    expect(asked({ audience }, { audienceParameter: true })).to.equal(
      'The parameters resource and audience must be equal.',
    );
  });
});
