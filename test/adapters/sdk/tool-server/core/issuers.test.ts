/** Several control planes of one tool server: `iss` chooses the only one that is asked about a token, and that can accept it. */

import { inspect } from 'node:util';
import { expect } from 'chai';
import {
  type AccessEvent,
  createToolServer,
  type IssuerOptions,
  type ToolServer,
  type ToolServerOptions,
} from '../../../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection } from '../../../../../adapters/sdk/tool-server/express/express.ts';
import { answering } from '../../../../support/loopback.ts';
import { makeSigningKey, type SigningKey } from '../../../../support/signing-key.ts';
import { fakeApprovals } from '../../../../support/tool-server/approvals.ts';
import {
  AUDIENCE,
  type FakeControlPlane,
  startFakeControlPlane,
  TASK_ID,
  TOKEN_ID,
} from '../../../../support/tool-server/control-plane.ts';
import { LIST_ID, sendList, signList, statusMember } from '../../../../support/tool-server/status-lists.ts';

const seconds = () => Math.floor(Date.now() / 1000);
const OWN = '/oauth2/introspect';

describe('A tool server with several control planes', () => {
  let keys: readonly SigningKey[];
  let one: FakeControlPlane;
  let other: FakeControlPlane;
  const events: AccessEvent[] = [];
  before(async () => {
    const [first, second] = [await makeSigningKey('ES256'), await makeSigningKey('ES256')];
    // Both publish another key under one `kid`.
    const alike: SigningKey = { ...second, kid: first.kid, publicJwk: { ...second.publicJwk, kid: first.kid } };
    keys = [first, alike];
  });
  beforeEach(async () => {
    [one, other] = [await startFakeControlPlane(seconds, keys[0]), await startFakeControlPlane(seconds, keys[1])];
    events.length = 0;
  });
  afterEach(() => Promise.all([one.stop(), other.stop()]));

  function made(common: Partial<ToolServerOptions> = {}, ...own: readonly Partial<IssuerOptions>[]): ToolServer {
    const issuers = [one, other].map(({ issuer }, at) => ({ issuer, ...own[at] }));
    const onAccess = (event: AccessEvent) => void events.push(event);
    const onError = () => undefined;
    return createToolServer({ audience: AUDIENCE, onAccess, onError, ...common, issuers } as ToolServerOptions);
  }
  async function ask(server: ToolServer, token: string, more: { readonly highRisk?: boolean } = {}): Promise<string> {
    const policy = server.policy({ scope: ['jira:read'], ...more });
    const access = await server.authorize({ route: 'GET /issues', policy, token });
    return access.kind === 'allowed' ? access.claims.iss : access.reason;
  }
  const outcomes = () => events.map(({ reason, issuer }) => [reason, issuer]);
  const askedOf = (plane: FakeControlPlane) => plane.server.received.map(({ path }) => path);

  it('accepts the tokens of each, by its keys, under one kid and one jti', async () => {
    const server = made();
    expect(await ask(server, one.token())).to.equal(one.issuer);
    expect(await ask(server, other.token())).to.equal(other.issuer);
    expect(events.map(({ issuer, sub, task_id, jti }) => [issuer, sub, task_id, jti])).to.deep.equal([
      [one.issuer, 'ada', TASK_ID, TOKEN_ID],
      [other.issuer, 'ada', TASK_ID, TOKEN_ID],
    ]);
    expect([server.issuer, server.issuers]).to.deep.equal([one.issuer, [one.issuer, other.issuer]]);
  });

  it('refuses a token that another control plane signed, by the keys of the one that it names, and asks no other', async () => {
    const server = made();
    expect(await ask(server, other.token({ iss: one.issuer }))).to.equal('invalid_signature');
    const { kid } = await makeSigningKey('ES256');
    expect(await ask(server, other.token({ iss: one.issuer }, { kid }))).to.equal('unknown_key');
    expect(askedOf(other)).to.deep.equal([]);
    // A claim that no control plane signed is in no event.
    expect(events.map(({ reason, issuer, sub }) => [reason, issuer, sub])).to.deep.equal([
      ['invalid_signature', null, null],
      ['unknown_key', null, null],
    ]);
  });

  for (const [what, claims] of [
    ['names another', { iss: 'https://evil.example' }],
    ['names none', { iss: undefined }],
    ['names a list of both', { iss: ['ONE', 'OTHER'] }],
    ['names one with a slash more', { iss: 'ONE/' }],
    ['names a member of every object', { iss: '__proto__' }],
  ] as const) {
    it(`refuses a token that ${what}, and asks no control plane, whatever its header says`, async () => {
      const server = made({ statusList: {} });
      const named = (text: string) => text.replace('ONE', one.issuer).replace('OTHER', other.issuer);
      const iss = claims.iss === undefined || typeof claims.iss === 'string' ? claims.iss : claims.iss.map(named);
      const token = one.token({ iss: typeof iss === 'string' ? named(iss) : iss });
      const unsigned = one.token({ iss: typeof iss === 'string' ? named(iss) : iss }, { alg: 'none', kid: undefined });
      expect([await ask(server, token), await ask(server, unsigned)]).to.deep.equal(['wrong_issuer', 'wrong_issuer']);
      expect([askedOf(one), askedOf(other)]).to.deep.equal([[], []]);
      expect(events.map(({ reason, issuer, jti }) => [reason, issuer, jti])).to.deep.equal([
        ['wrong_issuer', null, null],
        ['wrong_issuer', null, null],
      ]);
    });
  }

  it('introspects a token only at its own, also if another one has revoked its jti', async () => {
    const server = made();
    one.answerIntrospection = answering({ active: false, revocation_reason: 'sponsor_blocked' });
    const tokens = [one.token(), other.token()];
    const answers = tokens.map((token) => ask(server, token, { highRisk: true }));
    expect(await Promise.all(answers)).to.deep.equal(['not_active', other.issuer]);
    const sent = [one, other].map(({ server: { received } }) =>
      received.filter(({ path }) => path === OWN).map(({ body }) => new URLSearchParams(body).get('token')),
    );
    expect(sent).to.deep.equal(tokens.map((token) => [token]));
    expect(outcomes()).to.have.deep.members([
      ['not_active', one.issuer],
      [null, other.issuer],
    ]);
  });

  it('refuses an introspection that is about a token of another one', async () => {
    one.answerIntrospection = answering({ active: true, iss: other.issuer, sub: 'ada', jti: TOKEN_ID });
    expect(await ask(made(), one.token(), { highRisk: true })).to.equal('not_active');
    expect(outcomes()).to.deep.equal([['not_active', one.issuer]]);
  });

  it('reads the lists of each for its own tokens only: a list of another one is unknown, and is not fetched', async () => {
    const server = made({ statusList: { onStale: 'refuse' } });
    const iat = seconds();
    for (const [plane, statuses] of [
      [one, { 5: 1 }],
      [other, { 6: 1 }],
    ] as const) {
      plane.answerStatus = sendList(await signList(plane, iat, statuses));
    }
    const token = (plane: FakeControlPlane, idx: number, list = plane) =>
      plane.token({ iat: iat - 60, status: statusMember(list, idx) });
    expect(await ask(server, token(one, 5))).to.equal('not_active');
    expect(await ask(server, token(one, 6))).to.equal(one.issuer);
    expect(await ask(server, token(one, 6, other))).to.equal('status_unavailable');
    expect(other.asked(`/status/${LIST_ID}`)).to.equal(0);
    expect(await ask(server, token(other, 5))).to.equal(other.issuer);
    expect(await ask(server, token(other, 6))).to.equal('not_active');
    // A list that one signed with its own key cannot stand for that of the other.
    one.answerStatus = sendList(await signList(one, iat + 1, {}, { key: other.key }));
    expect(await ask(made({ statusList: { onStale: 'refuse' } }), token(one, 6))).to.equal('status_unavailable');
    expect(outcomes()).to.deep.equal([
      ['not_active', one.issuer],
      [null, one.issuer],
      ['status_unavailable', one.issuer],
      [null, other.issuer],
      ['not_active', other.issuer],
      ['status_unavailable', one.issuer],
    ]);
  });

  it('refuses only the tokens of a control plane that is away', async () => {
    const server = made({ statusList: { onStale: 'refuse' } }, {}, { statusList: { onStale: 'introspect' } });
    await one.server.close();
    expect(await ask(server, one.token())).to.equal('keys_unavailable');
    expect(await ask(server, other.token())).to.equal(other.issuer);
    expect(await ask(server, other.token(), { highRisk: true })).to.equal(other.issuer);
    await one.server.reopen();
    await other.server.close();
    // Its keys are cached, and cannot vouch for the status.
    expect(await ask(server, other.token())).to.equal('introspection_unavailable');
    expect(await ask(made(), one.token(), { highRisk: true })).to.equal(one.issuer);
    // Without the keys of a control plane its token is not verified, so the event names none.
    expect(outcomes().filter(([reason]) => reason !== null)).to.deep.equal([
      ['keys_unavailable', null],
      ['introspection_unavailable', other.issuer],
    ]);
  });

  it('sends a request for approval to the control plane of the token, signed for it by the key that it knows', async () => {
    const asked = [await fakeApprovals(one, seconds), await fakeApprovals(other, seconds)] as const;
    const [common, own] = [{ jwk: asked[0].key.privateJwk }, { jwk: asked[1].key.privateJwk }] as const;
    const server = made({ approvalKey: common }, {}, { approvalKey: own });
    const policy = server.policy({ scope: ['jira:read'] });
    const approval = async () => ({ digest: 'A'.repeat(43), title: 'Delete an issue', lines: [] });
    for (const plane of [one, other]) {
      const access = await server.authorize({ route: 'x', policy, token: plane.token(), approval });
      expect(access).to.include({ reason: 'approval_required' });
      expect(access.kind === 'refused' && access.body.approval_uri?.startsWith(`${plane.issuer}/`)).to.equal(true);
    }
    expect(asked.map((approvals) => approvals.asked.map(({ claims }) => claims.aud))).to.deep.equal([
      [one.issuer],
      [other.issuer],
    ]);
    const partly = expressProtection(made({}, { approvalKey: own }));
    const guarded = () => partly({ scope: ['jira:read'], approval: () => ({ title: 'Delete' }) });
    expect(guarded).to.throw(TypeError, /needs the option approvalKey of createToolServer, for each control plane\.$/);
  });

  it('sends each its requests with its own fetch, or with the common one', async () => {
    const sent: string[] = [];
    const by = (name: string): typeof fetch => {
      return (address, init) => {
        sent.push(`${name} ${new URL(String(address)).origin}`);
        return fetch(address, init);
      };
    };
    const server = made({ fetch: by('common') }, {}, { fetch: by('own') });
    for (const plane of [one, other]) await ask(server, plane.token());
    expect(sent).to.deep.equal([`common ${one.issuer}`, `own ${other.issuer}`]);
  });

  it('names the control plane in events only with a list, also of one', async () => {
    const onAccess = (event: AccessEvent) => void events.push(event);
    const list = createToolServer({ issuers: [{ issuer: one.issuer }], audience: AUDIENCE, onAccess });
    const text = createToolServer({ issuer: one.issuer, audience: AUDIENCE, onAccess });
    for (const server of [list, text]) {
      await ask(server, one.token());
      await ask(server, '');
    }
    const [allowed, refused, ...others] = events;
    expect([allowed?.issuer, refused?.issuer]).to.deep.equal([one.issuer, null]);
    expect(Object.keys(allowed ?? {}).slice(4, 7)).to.deep.equal(['reason', 'issuer', 'sub']);
    expect(others.map((event) => 'issuer' in event)).to.deep.equal([false, false]);
  });

  it('with the option issuer checks the signature before iss', async () => {
    const onAccess = (event: AccessEvent) => void events.push(event);
    const text = createToolServer({ issuer: one.issuer, audience: AUDIENCE, onAccess });
    expect(await ask(text, other.token())).to.equal('invalid_signature');
    expect(await ask(text, one.token({ iss: other.issuer }))).to.equal('wrong_issuer');
    expect(outcomes()).to.deep.equal([
      ['invalid_signature', undefined],
      ['wrong_issuer', undefined],
    ]);
  });
});

describe('The option issuers', () => {
  const [A, B] = ['https://a.example', 'https://b.example'];
  const given = (options: object) => () =>
    createToolServer({ audience: AUDIENCE, onAccess: () => undefined, ...options } as unknown as ToolServerOptions);

  const wrong: readonly (readonly [object, RegExp])[] = [
    [{ issuer: A, issuers: [{ issuer: B }] }, /issuer must be absent beside issuers/],
    [{ issuers: [] }, /issuers must be a list of 1 to 64 control planes/],
    [
      { issuers: Array.from({ length: 65 }, (_, at) => ({ issuer: `${A}/${at}` })) },
      /issuers must be a list of 1 to 64/,
    ],
    [{ issuers: A }, /issuers must be a list of 1 to 64/],
    [{ issuers: [A] }, /issuers\[0\] must be an object/],
    [{ issuers: [{}] }, /issuers\[0\]\.issuer must be an absolute https URL/],
    [{ issuers: [{ issuer: A }, { issuer: 'http://b.example' }] }, /issuers\[1\]\.issuer must be https: plain http/],
    [{ issuers: [{ issuer: A, audience: B }] }, /issuers\[0\]\.audience is not an option/],
    [{ issuers: [{ issuer: A, statusList: { maxAgeMs: 1 } }] }, /issuers\[0\]\.statusList\.maxAgeMs must be/],
    [{ issuers: [{ issuer: A, approvalKey: {} }] }, /issuers\[0\]\.approvalKey/],
    ...[A, `${A}/`, `${A}:443`, 'HTTPS://A.example', `${A}//`].map((again): [object, RegExp] => [
      { issuers: [{ issuer: A }, { issuer: B }, { issuer: again }] },
      /: issuers\[2\]\.issuer must not name a control plane that an earlier one names\.$/,
    ]),
  ];
  for (const [options, message] of wrong) {
    it(`cannot be ${inspect(options, { breakLength: Number.POSITIVE_INFINITY }).slice(0, 120)}`, () => {
      expect(given(options)).to.throw(TypeError, message);
    });
  }

  it('takes two control planes of one host with different paths, one of a machine, and 64', () => {
    const issuers = [A, `${A}/x`, `${A}/X`, `${A}/x/y`, 'http://127.0.0.1:5100/', 'http://127.0.0.1:5101'];
    const made = given({ issuers: issuers.map((issuer) => ({ issuer })) })();
    expect(made.issuers).to.deep.equal([...issuers.slice(0, 4), 'http://127.0.0.1:5100', 'http://127.0.0.1:5101']);
    const most = Array.from({ length: 64 }, (_, at) => ({ issuer: `${A}/${at}` }));
    expect(given({ issuers: most })().issuers).to.have.lengthOf(64);
  });
});
