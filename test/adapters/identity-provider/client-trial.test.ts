import { expect } from 'chai';
import { tryClient } from '../../../adapters/identity-provider/client-trial.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { systemRandomness } from '../../../adapters/platform/system-crypto.ts';
import { Secret } from '../../../domain/secret.ts';
import { answering, loopbackForSuite } from '../../support/loopback.ts';

describe('The trial of a client', () => {
  const server = loopbackForSuite(answering({}));
  const client = {
    clientId: 'mandate-page',
    clientSecret: new Secret('the-secret-of-the-page'),
    redirectUri: 'https://mandate.example/me/callback',
    assertionAudience: 'issuer',
  } as const;
  const trial = () =>
    tryClient(
      client,
      {
        issuer: server.url,
        token_endpoint: `${server.url}/token`,
        token_endpoint_auth_methods_supported: ['client_secret_basic'],
      },
      { network: httpNetwork(), assertion: async () => '', randomness: systemRandomness() },
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
    const parts = { network: httpNetwork(), assertion: async () => '', randomness: systemRandomness() };
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
});
