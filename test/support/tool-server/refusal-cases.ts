/** The refusals in the specification's table that depend on token, time or control plane, for all frameworks. */

import { sign } from 'node:crypto';
import { answering } from '../loopback.ts';
import { makeSigningKey, type SigningKey } from '../signing-key.ts';
import { AUDIENCE, type FakeControlPlane, TASK_ID, TOKEN_ID } from './control-plane.ts';
import { inactive, unavailable } from './introspection-cases.ts';
import { chain, NOBODY, NOW, type RefusalCase, signed, VERIFIED, WITHOUT_INSTANCE } from './refusal-case.ts';
import { sendList, signList, statusMember } from './status-lists.ts';

let stranger: SigningKey;
let rsa: SigningKey;

/** Must have resolved before the cases run. */
export async function makeCaseKeys(): Promise<void> {
  stranger = await makeSigningKey('ES256');
  rsa = await makeSigningKey('RS256');
}

const headed = (header: Readonly<Record<string, unknown>>) => (plane: FakeControlPlane) => plane.token({}, header);

export const refusalCases: readonly RefusalCase[] = [
  { reason: 'missing_token', what: 'no Authorization header', headers: () => [] },
  { reason: 'missing_token', what: 'another authentication scheme', headers: () => [['Authorization', 'Basic YTpi']] },
  { reason: 'missing_token', what: 'the scheme without a token', headers: () => [['Authorization', 'Bearer ']] },
  {
    reason: 'missing_token',
    what: 'two valid Authorization headers',
    headers: (plane) => [
      ['Authorization', `Bearer ${plane.token()}`],
      ['authorization', `Bearer ${plane.token()}`],
    ],
  },
  {
    reason: 'missing_token',
    what: 'a no-break space before the scheme',
    headers: (plane) => [['Authorization', `\u00a0Bearer ${plane.token()}`]],
  },
  { reason: 'malformed_token', what: 'a no-break space after the token', token: (plane) => `${plane.token()}\u00a0` },
  { reason: 'malformed_token', what: 'a token that is not a JWS', token: () => 'a-token' },
  { reason: 'malformed_token', what: 'two tokens', token: (plane) => `${plane.token()} ${plane.token()}` },
  { reason: 'malformed_token', what: 'base64url padding', token: (plane) => `${plane.token()}=` },
  { reason: 'malformed_token', what: 'a header with crit', token: headed({ crit: ['exp'] }) },
  {
    reason: 'malformed_token',
    what: 'a repeated member',
    token: (plane) => twice(plane, '"sub":"ada"', '"sub":"bob"'),
  },
  { reason: 'malformed_token', what: 'an exp of 1e400', token: (plane) => twice(plane, '"exp":1e400', undefined) },
  { reason: 'unsupported_algorithm', what: 'RS256', token: (plane) => foreign(plane, rsa, { alg: 'RS256' }) },
  { reason: 'unsupported_algorithm', what: 'none', token: headed({ alg: 'none' }) },
  { reason: 'unsupported_algorithm', what: 'HS256', token: headed({ alg: 'HS256' }) },
  { reason: 'wrong_type', what: 'no typ', token: headed({ typ: undefined }) },
  { reason: 'wrong_type', what: 'a logout token', token: headed({ typ: 'logout+jwt' }) },
  { reason: 'wrong_type', what: 'an offer to another agent', token: headed({ typ: 'delegation-offer+jwt' }) },
  { reason: 'wrong_type', what: 'the typ application/at+jwt', token: headed({ typ: 'application/at+jwt' }) },
  { reason: 'unknown_key', what: 'a kid that is not published', token: headed({ kid: 'another' }) },
  { reason: 'unknown_key', what: 'no kid', token: headed({ kid: undefined }) },
  { reason: 'invalid_signature', what: 'the signature of another key', token: (plane) => foreign(plane, stranger) },
  {
    reason: 'invalid_signature',
    what: 'a signature of three bytes',
    token: (plane) => `${plane.token().split('.').slice(0, 2).join('.')}.AAAA`,
  },
  {
    reason: 'invalid_signature',
    what: 'a signature with one byte more',
    token: (plane) => resigned(plane.token(), (signature) => Buffer.concat([signature, Buffer.alloc(1)])),
  },
  {
    reason: 'invalid_signature',
    what: 'a signature with one byte less',
    token: (plane) => resigned(plane.token(), (signature) => signature.subarray(0, -1)),
  },
  {
    reason: 'invalid_signature',
    what: 'a signature in DER',
    token: (plane) => resigned(plane.token(), (_, input) => sign('sha256', input, plane.key.privateKey)),
  },
  { reason: 'wrong_issuer', what: 'another issuer', token: signed({ iss: 'https://other.example' }) },
  { reason: 'wrong_issuer', what: 'no iss', token: signed({ iss: undefined }) },
  {
    reason: 'wrong_audience',
    what: 'another audience',
    token: signed({ aud: 'https://wiki.example' }),
    known: VERIFIED,
  },
  { reason: 'wrong_audience', what: 'a list of audiences', token: signed({ aud: [AUDIENCE] }), known: VERIFIED },
  {
    reason: 'wrong_audience',
    what: 'the audience with a slash at its end',
    token: signed({ aud: `${AUDIENCE}/` }),
    known: VERIFIED,
  },
  {
    reason: 'expired',
    what: 'an exp as long ago as the clock skew',
    token: signed({ exp: NOW - 60 }),
    known: VERIFIED,
  },
  { reason: 'not_yet_valid', what: 'an nbf beyond the clock skew', token: signed({ nbf: NOW + 61 }), known: VERIFIED },
  { reason: 'not_yet_valid', what: 'an iat beyond the clock skew', token: signed({ iat: NOW + 61 }), known: VERIFIED },
  { reason: 'malformed_token', what: 'no exp', token: signed({ exp: undefined }), known: VERIFIED },
  { reason: 'malformed_token', what: 'no iat', token: signed({ iat: undefined }), known: VERIFIED },
  { reason: 'malformed_token', what: 'no jti', token: signed({ jti: undefined }), known: { ...VERIFIED, jti: null } },
  { reason: 'malformed_token', what: 'a blank jti', token: signed({ jti: ' ' }), known: { ...VERIFIED, jti: ' ' } },
  { reason: 'no_subject', what: 'no sub', token: signed({ sub: undefined }), known: { ...VERIFIED, sub: null } },
  { reason: 'no_subject', what: 'a number as sub', token: signed({ sub: 7 }), known: { ...VERIFIED, sub: null } },
  {
    reason: 'subject_is_agent',
    what: 'an agent as sub, in other letter case',
    token: signed({ sub: 'Agent:triage' }),
    known: { ...VERIFIED, sub: 'Agent:triage' },
  },
  ...[
    ['a string as its value', 'agent:triage'],
    ['null as its value', null],
    ['no sub', { depth: 1 }],
    ['a person', { sub: 'bob', depth: 1 }],
    ['no depth', { sub: 'agent:triage' }],
    ['a depth of 0', chain(0)],
    ['a depth that ends above 1', chain(2)],
    ['rising depths', chain(1, 2)],
    ['a missing depth', chain(3, 1)],
    ['a repeated depth', chain(1, 1)],
    ['a blank instance', { sub: 'agent:triage', depth: 1, instance: ' ' }],
  ].map(
    ([what, act]): RefusalCase => ({
      reason: 'malformed_token',
      what: `an act with ${String(what)}`,
      token: signed({ act }),
      route: 'GET /sprints/:sprint',
      path: '/sprints/9',
      known: { ...NOBODY, sub: 'ada', task_id: TASK_ID, jti: TOKEN_ID },
    }),
  ),
  {
    reason: 'malformed_token',
    what: 'a task without an id',
    token: signed({ task: { exp: NOW } }),
    known: { ...VERIFIED, task_id: null },
  },
  {
    reason: 'no_actor',
    what: 'a person without an agent',
    token: signed({ act: undefined }),
    known: { ...NOBODY, sub: 'ada', task_id: TASK_ID, jti: TOKEN_ID },
  },
  {
    reason: 'delegation_too_deep',
    what: 'two hops where one is accepted',
    token: signed({ act: chain(2, 1) }),
    known: { ...WITHOUT_INSTANCE, act: 'agent:hop-0', depth: 2 },
  },
  {
    reason: 'delegation_too_deep',
    what: 'four hops where the route accepts three',
    token: signed({ act: chain(4, 3, 2, 1) }),
    route: 'GET /sprints/:sprint',
    path: '/sprints/9',
    known: { ...WITHOUT_INSTANCE, act: 'agent:hop-0', depth: 4 },
  },
  {
    reason: 'insufficient_scope',
    what: 'one of two scopes',
    token: signed({ scope: 'jira:read jira:comments' }),
    route: 'POST /issues/:key/comments',
    path: '/issues/OPS-7/comments',
    known: VERIFIED,
    remark: 'Missing: jira:comment.',
  },
  {
    reason: 'insufficient_scope',
    what: 'a list as scope',
    token: signed({ scope: ['jira:read'] }),
    known: VERIFIED,
    remark: 'Missing: jira:read.',
  },
  { reason: 'unknown_route', what: 'an unknown path', route: 'GET ', path: '/nothing', known: VERIFIED },
  {
    reason: 'unknown_route',
    what: 'a route without a policy',
    route: 'GET /forgotten',
    path: '/forgotten',
    known: VERIFIED,
  },
  ...inactive(),
  ...unavailable(),
  {
    reason: 'not_active',
    what: 'a task that is over by its status list',
    options: { statusList: {} },
    // The list is newer than the token.
    token: (plane) => plane.token({ iat: NOW - 60, status: statusMember(plane, 5) }),
    prepare: async (plane) => {
      plane.answerStatus = sendList(await signList(plane, NOW, { 5: 1 }));
    },
    known: VERIFIED,
  },
  {
    reason: 'status_unavailable',
    what: 'a status list that cannot be fetched',
    options: { statusList: { onStale: 'refuse' } },
    token: (plane) => plane.token({ status: statusMember(plane, 5) }),
    prepare: (plane) => {
      plane.answerStatus = (_, response) => response.writeHead(503, { 'retry-after': '5' }).end();
    },
    known: VERIFIED,
    retryAfter: '5',
  },
  {
    reason: 'keys_unavailable',
    what: 'a control plane that answers with an error',
    prepare: (plane) => {
      plane.answerKeys = (_, response) => response.writeHead(503, { 'retry-after': '7' }).end();
    },
    retryAfter: '7',
  },
  {
    reason: 'keys_unavailable',
    what: 'a key set without a usable key',
    prepare: (plane) => {
      plane.answerKeys = answering({ keys: [{ kty: 'oct', kid: plane.key.kid, k: 'AAAA' }] });
    },
  },
  {
    reason: 'keys_unavailable',
    what: 'a redirect to the keys',
    prepare: (plane) => {
      plane.answerKeys = (_, response) => response.writeHead(302, { location: `${plane.issuer}/elsewhere` }).end();
      plane.answerIntrospection = answering({ keys: [plane.key.publicJwk] });
    },
  },
];

/** A token with the kid of the control plane, signed with another key. */
function foreign(plane: FakeControlPlane, key: SigningKey, header: object = {}): string {
  const [, payload = ''] = plane.token().split('.');
  const claims = Buffer.from(payload, 'base64url');
  return key.sign({ alg: 'ES256', typ: 'at+jwt', kid: plane.key.kid, ...header }, claims);
}

/** The same token with a changed signature. */
function resigned(token: string, signature: (own: Buffer, input: Buffer) => Buffer): string {
  const end = token.lastIndexOf('.');
  const own = Buffer.from(token.slice(end + 1), 'base64url');
  return `${token.slice(0, end)}.${signature(own, Buffer.from(token.slice(0, end))).toString('base64url')}`;
}

/** A token whose payload begins with the member `first`. Without `second`, it has no other `exp`. */
function twice(plane: FakeControlPlane, first: string, second: string | undefined): string {
  const claims = JSON.parse(Buffer.from(plane.token().split('.')[1] ?? '', 'base64url').toString()) as object;
  const { exp: _exp, ...others } = { exp: 0, ...claims };
  const rest = JSON.stringify(second === undefined ? others : claims).slice(1);
  return plane.key.sign({ alg: 'ES256', typ: 'at+jwt', kid: plane.key.kid }, `{${first},${rest}`);
}
