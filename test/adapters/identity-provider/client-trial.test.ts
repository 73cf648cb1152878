import { expect } from 'chai';
import { tryClient } from '../../../adapters/identity-provider/client-trial.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import { Secret } from '../../../domain/secret.ts';
import { answering, type Handler, loopbackForSuite } from '../../support/loopback.ts';

describe('The trial of a client', () => {
  const server = loopbackForSuite(answering({}));
  const client = {
    clientId: 'mandate-page',
    clientSecret: new Secret('the-secret-of-the-page'),
    redirectUri: 'https://mandate.example/me/callback',
    assertionAudience: 'issuer',
    pushedAuthorization: 'auto',
    signedOutUri: 'https://mandate.example/me/signed-out',
    sponsorKeyClaim: 'sub',
  } as const;
  const trial = () =>
    tryClient(
      client,
      {
        issuer: server.url,
        token_endpoint: `${server.url}/token`,
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      },
      { network: httpNetwork(), assertion: async () => '', randomness: systemRandomness(), isPlain: true },
    );
  const right = `Basic ${btoa('mandate-page:the-secret-of-the-page')}`;

  for (const [what, status, body, kind] of [
    ['accepted if only a wrong secret is refused', 401, { error: 'invalid_client' }, 'accepted'],
    [
      'of a provider that looks at the code first if a wrong secret gets the same',
      400,
      { error: 'invalid_grant' },
      'code_first',
    ],
    ['unclear if a limit of requests meets the wrong secret', 429, { error: 'slow_down' }, 'unclear'],
    ['unclear if the provider fails at the wrong secret', 503, {}, 'unclear'],
  ] as const) {
    it(`shows that it is ${what}`, async () => {
      server.answer = (request, response) =>
        request.headers.authorization === right
          ? answering({ error: 'invalid_grant' }, 400)(request, response)
          : answering(body, status)(request, response);
      expect(await trial()).to.have.property('kind', kind);
    });
  }

  it('leaves an error out that repeats the secret as the form has it', async () => {
    const clientSecret = new Secret('a+b/c:d=e/f+g:h/i');
    const { issuer, token_endpoint } = { issuer: server.url, token_endpoint: `${server.url}/token` };
    const document = { issuer, token_endpoint, token_endpoint_auth_methods_supported: ['client_secret_post'] };
    server.answer = ({ body }, response) => {
      const [, sent = ''] = /client_secret=([^&]*)/.exec(body) ?? [];
      answering({ error: `bad ${sent}` }, 401)({} as never, response);
    };
    const parts = { network: httpNetwork(), assertion: async () => '', randomness: systemRandomness(), isPlain: true };
    expect(await tryClient({ ...client, clientSecret }, document, parts)).to.deep.equal({
      kind: 'refused',
      problem: "The token endpoint's status was 401.",
    });
  });

  it('leaves an error out that repeats the Authorization header, the secret or the code', async () => {
    for (const repeat of [
      () => right.slice(6),
      () => 'the-secret-of-the-page',
      (body: string) => new URLSearchParams(body).get('code') ?? '',
    ]) {
      server.answer = (request, response) => answering({ error: repeat(request.body) }, 401)(request, response);
      expect(await trial()).to.deep.equal({ kind: 'refused', problem: "The token endpoint's status was 401." });
    }
  });

  describe('that pushes its request', () => {
    const isRight = (headers: Readonly<Record<string, unknown>>) => headers.authorization === right;
    /** What the endpoints answer to the right and to the wrong authentication. */
    const pushing = async (
      [pushed, pushedWrongly]: readonly [Handler, Handler],
      [sent, sentWrongly]: readonly [Handler, Handler],
    ) => {
      server.answer = (request, response) => {
        const [good, bad] = request.path === '/par' ? [pushed, pushedWrongly] : [sent, sentWrongly];
        (isRight(request.headers) ? good : bad)(request, response);
      };
      const document = {
        issuer: server.url,
        authorization_endpoint: `${server.url}/authorize`,
        token_endpoint: `${server.url}/token`,
        pushed_authorization_request_endpoint: `${server.url}/par`,
        require_pushed_authorization_requests: true,
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      };
      const parts = {
        network: httpNetwork(),
        assertion: async () => '',
        randomness: systemRandomness(),
        isPlain: true,
      };
      return tryClient(client, document, parts);
    };
    const taken = answering({ request_uri: 'urn:ietf:params:oauth:request_uri:a', expires_in: 60 }, 201);
    const error = (name: string, status = 400) => answering({ error: name }, status);
    const [wrongCode, wrongClient] = [error('invalid_grant'), error('invalid_client', 401)];

    it('shows that the client is accepted, also at a provider that looks at the code first', async () => {
      for (const sentWrongly of [wrongClient, wrongCode, error('slow_down', 429)]) {
        const trial = await pushing([taken, wrongClient], [wrongCode, sentWrongly]);
        expect(trial).to.deep.equal({ kind: 'accepted', pushed: true });
      }
      const [request] = server.received;
      const form = new URLSearchParams(request?.body);
      expect([form.get('redirect_uri'), form.get('scope')]).to.deep.equal([client.redirectUri, 'openid']);
    });

    it('shows nothing at a provider that takes pushed requests and codes with any authentication', async () => {
      expect(await pushing([taken, taken], [wrongCode, wrongCode])).to.deep.equal({ kind: 'code_first' });
    });

    const refusals: readonly (readonly [string, Handler, string])[] = [
      ['the client', wrongClient, 'refused'],
      ['the request', error('invalid_redirect_uri'), 'request_refused'],
      ['a request without a proof of a key', error('invalid_dpop_proof'), 'dpop_demanded'],
      ['it for the moment', error('temporarily_unavailable', 503), 'unclear'],
      ['it with an answer that no such endpoint gives', answering({}, 404), 'no_endpoint'],
      ['it without a request_uri', answering({ expires_in: 60 }, 201), 'no_endpoint'],
    ];
    for (const [what, pushed, kind] of refusals) {
      it(`shows that the provider refuses ${what}, and sends no code then`, async () => {
        expect(await pushing([pushed, pushed], [wrongCode, wrongClient])).to.have.property('kind', kind);
        expect(server.received.map(({ path }) => path)).to.deep.equal(['/par']);
      });
    }

    it('names no endpoint but the one that fails', async () => {
      const trial = await pushing([taken, taken], [answering('<h1>Not here</h1>', 404), wrongClient]);
      expect(trial).to.include({ kind: 'no_endpoint', endpoint: 'token_endpoint' });
    });

    it('leaves an error out that repeats the secret or the state', async () => {
      for (const repeat of [() => 'the-secret-of-the-page', (body: string) => new URLSearchParams(body).get('state')]) {
        const repeating: Handler = (request, response) =>
          answering({ error: repeat(request.body) }, 400)(request, response);
        expect(await pushing([repeating, repeating], [wrongCode, wrongClient])).to.deep.equal({
          kind: 'request_refused',
          problem: "The answer's status was 400.",
        });
      }
    });
  });

  it('shows a demand for a proof of a key, by its error or by the description of another', async () => {
    for (const body of [
      { error: 'invalid_dpop_proof' },
      { error: 'use_dpop_nonce' },
      { error: 'invalid_grant', error_description: 'DPoP proof is missing' },
    ]) {
      server.answer = answering(body, 400);
      expect(await trial(), JSON.stringify(body)).to.deep.equal({ kind: 'dpop_demanded' });
    }
    server.answer = answering({ error: 'invalid_grant', error_description: 'endpoint not found' }, 400);
    expect(await trial()).to.deep.equal({ kind: 'code_first' });
  });
});
