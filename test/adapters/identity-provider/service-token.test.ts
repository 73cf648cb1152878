import { expect } from 'chai';
import { fixedToken, type ServiceTokens } from '../../../adapters/identity-provider/service-token.ts';
import { Secret } from '../../../domain/secret.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { serviceTokensForSuite } from '../../support/identity-provider/service-tokens.ts';
import { answering, loopbackForSuite, STATUSES_WITHOUT_DOCUMENT } from '../../support/loopback.ts';

const service = serviceTokensForSuite();

describe('The service token', () => {
  const server = loopbackForSuite();
  beforeEach(() => {
    issue({ expires_in: 300 });
  });

  let issued = 0;
  function issue(changes: object, status = 200): void {
    server.answer = (request, response) => {
      issued += 1;
      answering({ access_token: `token-${issued}`, token_type: 'Bearer', ...changes }, status)(request, response);
    };
  }
  const make = (issuer: string | undefined = 'https://idp.example') =>
    service.tokensFrom(`${server.url}/token`, issuer);
  async function tokenOf(tokens: ServiceTokens): Promise<string> {
    const current = await tokens.current();
    return current.kind === 'token' ? current.token : current.problem;
  }

  it('is requested, like the metadata, in the trace of the first of concurrent callers', async () => {
    const asked: (Trace | undefined)[] = [];
    const tokens = service.tokensFrom(`${server.url}/token`, 'https://idp.example', (trace) => asked.push(trace));
    await Promise.all([tokens.current(aTrace), tokens.current()]);
    expect(asked).to.deep.equal([aTrace]);
    expect(server.received.map(({ headers }) => headers.traceparent)).to.deep.equal([
      `00-${aTrace.traceId}-${aTrace.spanId}-01`,
    ]);
  });

  it('is requested by client_credentials with the assertion', async () => {
    expect(await tokenOf(make())).to.equal(`token-${issued}`);
    const [request] = server.received;
    expect(request).to.include({ method: 'POST', path: '/token' });
    expect(request?.headers['content-type']).to.equal('application/x-www-form-urlencoded');
    const form = new URLSearchParams(request?.body);
    expect(Object.fromEntries([...form].filter(([name]) => name !== 'client_assertion'))).to.deep.equal({
      grant_type: 'client_credentials',
      client_id: 'mandate-service',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    const assertion = readCompactJws(form.get('client_assertion') ?? '');
    expect(assertion?.claims.json).to.include({ sub: 'mandate-service', aud: 'https://idp.example' });
  });

  it('is requested with the configured scope', async () => {
    const tokens = service.tokensFrom(`${server.url}/token`, 'https://idp.example', undefined, {
      scope: 'users:read groups',
    });
    expect(await tokenOf(tokens)).to.equal(`token-${issued}`);
    expect(new URLSearchParams(server.received[0]?.body).getAll('scope')).to.deep.equal(['users:read groups']);
  });

  it('is requested with an assertion for the token endpoint, which needs no metadata', async () => {
    const tokens = service.tokensFrom(`${server.url}/token`, undefined, undefined, {
      assertionAudience: 'token_endpoint',
    });
    expect(await tokenOf(tokens)).to.equal(`token-${issued}`);
    const form = new URLSearchParams(server.received[0]?.body);
    expect(readCompactJws(form.get('client_assertion') ?? '')?.claims.json.aud).to.equal(`${server.url}/token`);
  });

  it('is requested once more, on a new connection and with a new assertion, if the connection breaks', async () => {
    const tokens = make();
    await tokenOf(tokens);
    service.clock.advance(300);
    const usual = server.answer;
    server.answer = (_, response) => {
      server.answer = usual;
      response.destroy();
    };
    expect(await tokenOf(tokens)).to.equal(`token-${issued}`);
    const [, cut, repeated] = server.received;
    expect(repeated?.connection).not.to.equal(cut?.connection);
    const [first, second] = [cut, repeated].map((sent) => {
      const assertion = new URLSearchParams(sent?.body).get('client_assertion') ?? '';
      return readCompactJws(assertion)?.claims.tokenId;
    });
    expect(first).to.be.a('string').and.not.equal(second);
  });

  it('is not requested a third time', async () => {
    server.answer = (_, response) => response.destroy();
    expect((await make().current()).kind).to.equal('unavailable');
    expect(server.received).to.have.length(2);
  });

  it("is a configured one, which stays in use after the users service's refusal", async () => {
    const tokens = fixedToken(new Secret('b'.repeat(32)));
    expect(tokens.forget('b'.repeat(32))).to.equal(false);
    expect(await tokenOf(tokens)).to.equal('b'.repeat(32));
  });

  describe("names the provider's error:", () => {
    const problemAfter = async (error: unknown): Promise<string> => {
      server.answer = answering({ error, error_description: 'secret' }, 400);
      return tokenOf(make());
    };
    const NONE = "The token endpoint's status was 400.";
    for (const [title, error, shown] of [
      ['a code', 'invalid_scope', 'invalid_scope'],
      ['words', 'HTTP 400 Bad Request', 'HTTP 400 Bad Request'],
      ['hidden characters, by their numbers', 'a\u202eb\nc', 'a\\u{202e}b\\u{a}c'],
      ['a long text, cut', 'x'.repeat(65_000 - 100), `${'x'.repeat(64)}…`],
    ] as const) {
      it(title, async () => {
        const expected = `The token endpoint's status was 400, and its error is "${shown}".`;
        expect(await problemAfter(error)).to.equal(expected);
      });
    }
    for (const error of [undefined, null, 7, '', ' ', ['invalid_scope'], { code: 'invalid_scope' }]) {
      it(`not ${JSON.stringify(error)}`, async () => {
        expect(await problemAfter(error)).to.equal(NONE);
      });
    }

    it('not a text that repeats the assertion, or a part of it', async () => {
      for (const [from, to] of [
        [0, 64],
        [40, 70],
        [-20, undefined],
      ] as const) {
        server.answer = ({ body }, response) => {
          const assertion = new URLSearchParams(body).get('client_assertion') ?? '';
          answering({ error: `bad ${assertion.slice(from, to)}` }, 400)({} as never, response);
        };
        expect(await tokenOf(make())).to.equal(NONE);
      }
    });
  });

  it('is requested once for concurrent callers, and used until ten seconds before it expires', async () => {
    const tokens = make();
    const [first, second] = await Promise.all([tokenOf(tokens), tokenOf(tokens)]);
    expect(first).to.equal(second);
    service.clock.advance(289);
    expect(await tokenOf(tokens)).to.equal(first);
    expect(server.received).to.have.length(1);
    service.clock.advance(1);
    expect(await tokenOf(tokens)).not.to.equal(first);
    expect(server.received).to.have.length(2);
  });

  it('is used for half of a short lifetime, and for fifty seconds without expires_in', async () => {
    for (const [expiresIn, usedFor] of [
      [8, 4],
      [undefined, 50],
    ] as const) {
      issue({ expires_in: expiresIn });
      const tokens = make();
      const first = await tokenOf(tokens);
      service.clock.advance(usedFor - 0.5);
      expect(await tokenOf(tokens)).to.equal(first);
      service.clock.advance(0.5);
      expect(await tokenOf(tokens)).not.to.equal(first);
    }
  });

  it('has the lifetime that the provider writes as digits in text, and is read from an answer with the status 203', async () => {
    server.answer = answering({ access_token: 'token-1', token_type: 'Bearer', expires_in: '3599' }, 203);
    const tokens = make();
    expect(await tokenOf(tokens)).to.equal('token-1');
    service.clock.advance(3588);
    expect(await tokenOf(tokens)).to.equal('token-1');
    expect(server.received).to.have.length(1);
    service.clock.advance(1);
    await tokenOf(tokens);
    expect(server.received).to.have.length(2);
  });

  it('is not used after forget(), and stays in use when forget() names an earlier token', async () => {
    const tokens = make();
    const first = await tokenOf(tokens);
    tokens.forget(first);
    const second = await tokenOf(tokens);
    expect(second).not.to.equal(first);
    tokens.forget(first);
    expect(await tokenOf(tokens)).to.equal(second);
  });

  const [unreadable, noToken] = ['is no JSON object, or is ambiguous', 'has no usable access_token'];
  const [noBearer, noLifetime] = ['has no token_type Bearer', 'has an expires_in that is no number of seconds above 0'];
  for (const [title, body, problem] of [
    ['a body that is not JSON', 'secret', unreadable],
    ['a list', ['secret'], unreadable],
    ['a repeated access_token', '{"access_token":"a","access_token":"b","token_type":"Bearer"}', unreadable],
    ['no token', { token_type: 'Bearer', expires_in: 300 }, noToken],
    ['an empty token', { access_token: '', token_type: 'Bearer' }, noToken],
    ['an access_token with a line break', { access_token: 'a\r\nx: y', token_type: 'Bearer' }, noToken],
    ['a token of another type', { access_token: 'a', token_type: 'DPoP' }, noBearer],
    ['a token without a type', { access_token: 'a' }, noBearer],
    ...[0, -300, true, '0', '', '-300', '3e2', '300s', ' 300'].map(
      (given) =>
        [
          `the lifetime ${JSON.stringify(given)}`,
          { access_token: 'a', token_type: 'Bearer', expires_in: given },
          noLifetime,
        ] as const,
    ),
  ] as const) {
    it(`is unavailable after ${title}: the problem names it, and does not repeat the answer`, async () => {
      server.answer = answering(body, 200);
      expect(await make().current()).to.deep.equal({
        kind: 'unavailable',
        shared: false,
        status: 200,
        problem: `The token endpoint's answer ${problem}.`,
      });
    });
  }

  for (const [title, body, status, problem] of [
    [
      'status 401',
      { error: 'invalid_client', error_description: 'secret' },
      401,
      '401, and its error is "invalid_client"',
    ],
    ['status 500', 'secret', 500, '500'],
    ['a redirect', '', 302, '302'],
  ] as const) {
    it(`is unavailable after ${title}, and the problem does not repeat the answer`, async () => {
      server.answer = answering(body, status);
      expect(await make().current()).to.deep.equal({
        kind: 'unavailable',
        shared: false,
        status,
        problem: `The token endpoint's status was ${problem}.`,
      });
    });
  }

  for (const status of STATUSES_WITHOUT_DOCUMENT) {
    it(`is unavailable after an answer with the status ${status}, even with a token`, async () => {
      server.answer = answering({ access_token: 'token-1', token_type: 'Bearer', expires_in: 300 }, status);
      expect(await make().current()).to.deep.equal({
        kind: 'unavailable',
        problem: `The token endpoint's status was ${status}.`,
        shared: false,
        status,
      });
    });
  }

  it('is unavailable while the issuer of the provider is unknown', async () => {
    expect((await service.tokensFrom(server.url, undefined).current()).kind).to.equal('unavailable');
    expect(server.received).to.have.length(0);
  });

  it('is unavailable and marked as shared for callers that waited for the failed request of another caller', async () => {
    server.answer = answering('', 503);
    const tokens = make();
    const all = await Promise.all([tokens.current(), tokens.current(), tokens.current()]);
    expect(all.map((one) => one.kind === 'unavailable' && one.shared)).to.deep.equal([false, true, true]);
  });
});
