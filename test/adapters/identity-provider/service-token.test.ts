import { expect } from 'chai';
import type { JWK } from 'oidc-provider';
import {
  fixedToken,
  type ServiceClient,
  type ServiceTokens,
  serviceAssertion,
  serviceTokens,
} from '../../../adapters/identity-provider/service-token.ts';
import { generateSigningKey } from '../../../adapters/jose/signing-key.ts';
import { signingKeys } from '../../../adapters/jose/signing-keys.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import type { ProviderMetadata } from '../../../application/ports/identity-provider.ts';
import type { SigningKeys } from '../../../application/ports/keys.ts';
import { Secret } from '../../../domain/secret.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import type { Trace } from '../../../domain/trace-context.ts';
import { aTrace } from '../../support/domain-fixtures.ts';
import { memoryStorage } from '../../support/identity-provider/memory-storage.ts';
import { providerLibrary } from '../../support/identity-provider/provider-library.ts';
import { answering, loopbackForSuite, STATUSES_WITHOUT_DOCUMENT, startLoopback } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

let keys: SigningKeys;
let clock: MovedClock;
before(async () => {
  const key = await generateSigningKey();
  const chosen = await signingKeys([key], undefined);
  if (chosen.kind !== 'chosen') throw new Error(chosen.kind);
  keys = chosen.signingKeys;
});
beforeEach(() => {
  clock = movedClock();
  clock.standStill();
});

function tokensFrom(
  tokenUrl: string,
  issuer: string | undefined,
  asked: (trace: Trace | undefined) => void = () => undefined,
  changes: Partial<ServiceClient> = {},
): ServiceTokens {
  const provider = issuer === undefined ? undefined : { issuer, jwksUri: `${issuer}/keys` };
  const metadata: Pick<ProviderMetadata, 'current'> = {
    async current(trace) {
      asked(trace);
      return provider;
    },
  };
  const assertion = serviceAssertion(keys, clock, systemRandomness());
  return serviceTokens(
    { tokenUrl, clientId: 'mandate-service', scope: undefined, assertionAudience: 'issuer', ...changes },
    { network: httpNetwork(), clock, metadata, assertion },
  );
}

describe('The client assertion of the service', () => {
  it('has one audience, no nbf, an iat in the past, a lifetime of 60 s and a unique jti', async () => {
    const make = serviceAssertion(keys, clock, systemRandomness());
    const [first, second] = [await make('mandate-service', 'https://idp.example'), await make('x', 'y')];
    const jws = readCompactJws(first);
    const now = clock.seconds();
    if (jws === undefined) throw new Error('malformed');
    const { iat, exp, jti, ...rest } = jws.claims.json;
    expect(rest).to.deep.equal({ iss: 'mandate-service', sub: 'mandate-service', aud: 'https://idp.example' });
    expect(iat).to.be.within(now - 6, now - 5);
    expect(Number(exp) - Number(iat)).to.equal(60);
    expect(jti).to.match(/^[A-Za-z0-9_-]{22}$/);
    expect(readCompactJws(second)?.claims.tokenId).not.to.equal(jti);
    expect(jws).to.include({ algorithm: 'ES256', type: 'JWT', keyId: keys.published().keys[0]?.kid });
  });
});

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
  const make = (issuer: string | undefined = 'https://idp.example') => tokensFrom(`${server.url}/token`, issuer);
  async function tokenOf(tokens: ServiceTokens): Promise<string> {
    const current = await tokens.current();
    return current.kind === 'token' ? current.token : current.problem;
  }

  it('is requested, like the metadata, in the trace of the first of concurrent callers', async () => {
    const asked: (Trace | undefined)[] = [];
    const tokens = tokensFrom(`${server.url}/token`, 'https://idp.example', (trace) => asked.push(trace));
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
    const tokens = tokensFrom(`${server.url}/token`, 'https://idp.example', undefined, { scope: 'users:read groups' });
    expect(await tokenOf(tokens)).to.equal(`token-${issued}`);
    expect(new URLSearchParams(server.received[0]?.body).getAll('scope')).to.deep.equal(['users:read groups']);
  });

  it('is requested with an assertion for the token endpoint, which needs no metadata', async () => {
    const tokens = tokensFrom(`${server.url}/token`, undefined, undefined, { assertionAudience: 'token_endpoint' });
    expect(await tokenOf(tokens)).to.equal(`token-${issued}`);
    const form = new URLSearchParams(server.received[0]?.body);
    expect(readCompactJws(form.get('client_assertion') ?? '')?.claims.json.aud).to.equal(`${server.url}/token`);
  });

  it('is requested once more, on a new connection and with a new assertion, if the connection breaks', async () => {
    const tokens = make();
    await tokenOf(tokens);
    clock.advance(300);
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
    clock.advance(289);
    expect(await tokenOf(tokens)).to.equal(first);
    expect(server.received).to.have.length(1);
    clock.advance(1);
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
      clock.advance(usedFor - 0.5);
      expect(await tokenOf(tokens)).to.equal(first);
      clock.advance(0.5);
      expect(await tokenOf(tokens)).not.to.equal(first);
    }
  });

  it('has the lifetime that the provider writes as digits in text, and is read from an answer with the status 203', async () => {
    server.answer = answering({ access_token: 'token-1', token_type: 'Bearer', expires_in: '3599' }, 203);
    const tokens = make();
    expect(await tokenOf(tokens)).to.equal('token-1');
    clock.advance(3588);
    expect(await tokenOf(tokens)).to.equal('token-1');
    expect(server.received).to.have.length(1);
    clock.advance(1);
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
    expect((await tokensFrom(server.url, undefined).current()).kind).to.equal('unavailable');
    expect(server.received).to.have.length(0);
  });

  it('is unavailable and marked as shared for callers that waited for the failed request of another caller', async () => {
    server.answer = answering('', 503);
    const tokens = make();
    const all = await Promise.all([tokens.current(), tokens.current(), tokens.current()]);
    expect(all.map((one) => one.kind === 'unavailable' && one.shared)).to.deep.equal([false, true, true]);
  });

  it('is issued by a real provider that has the published keys', async () => {
    const { Provider } = await providerLibrary();
    const host = await startLoopback(answering({}));
    const provider = new Provider(host.url, {
      adapter: memoryStorage(),
      jwks: { keys: [(await makeSigningKey('RS256')).privateJwk as JWK] },
      ttl: { ClientCredentials: 120 },
      clients: [
        {
          client_id: 'mandate-service',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
          token_endpoint_auth_method: 'private_key_jwt',
          token_endpoint_auth_signing_alg: 'ES256',
          jwks: { keys: keys.published().keys.map((key) => ({ ...key, key_ops: ['verify'] })) },
        },
      ],
      features: { clientCredentials: { enabled: true }, devInteractions: { enabled: false } },
    });
    await host.close();
    const running = provider.listen(Number(new URL(host.url).port), '127.0.0.1');
    try {
      const current = await tokensFrom(`${host.url}/token`, host.url).current();
      expect(current.kind).to.equal('token');
    } finally {
      running.close();
      running.closeAllConnections();
    }
  });
});
