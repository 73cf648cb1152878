/** The request of a sign-in that is pushed to the provider first (RFC 9126), over TLS. */

import { createHash, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { Network } from '../../../application/ports/network.ts';
import type { SignInDenial } from '../../../domain/sign-in-denial.ts';
import { readCompactJws } from '../../../domain/tokens/compact-jws.ts';
import {
  addressOf,
  attempt,
  CLIENT,
  type Members,
  providerForSuite,
  REDIRECT,
  refused,
  secret,
} from '../../support/identity-provider/shaped-provider.ts';
import { answering, type Handler, testTrust } from '../../support/loopback.ts';

describe('The pushed request of a sign-in', () => {
  const idp = providerForSuite();
  const { server, page } = idp;
  const REQUEST_URI = 'urn:ietf:params:oauth:request_uri:6esc_11ACC5bwc014ltc14eY22c';
  const TAKEN = { request_uri: REQUEST_URI, expires_in: 60 };

  /** A provider that requires pushed requests, and answers one in this way. */
  const requiring = (pushed: Handler, changes: Members = {}): void => {
    const pushedEndpoint = `${server.url}/par`;
    idp.shaped('Keycloak', {
      require_pushed_authorization_requests: true,
      pushed_authorization_request_endpoint: pushedEndpoint,
      ...changes,
    });
    const { answer } = server;
    server.answer = (request, response) =>
      request.path === '/par' ? pushed(request, response) : answer(request, response);
  };
  const pushedRequests = () => server.received.filter(({ path }) => path === '/par');

  it('has the whole request and the authentication of the client: the browser carries only a reference', async () => {
    requiring(answering(TAKEN, 201), { authorization_endpoint: `${server.url}/authorize?tenant=7` });
    const address = await addressOf(page({ longestSignIn: 600 }));
    expect(Object.fromEntries(address.searchParams)).to.deep.equal({
      tenant: '7',
      client_id: CLIENT,
      request_uri: REQUEST_URI,
    });
    const [request] = pushedRequests();
    expect(request?.method).to.equal('POST');
    expect(request?.headers['content-type']).to.match(/^application\/x-www-form-urlencoded/);
    const { client_assertion = '', ...form } = Object.fromEntries(new URLSearchParams(request?.body));
    expect(form).to.include({
      client_id: CLIENT,
      response_type: 'code',
      redirect_uri: REDIRECT,
      scope: 'openid',
      state: attempt.state,
      nonce: attempt.nonce,
      max_age: '600',
      code_challenge_method: 'S256',
      code_challenge: createHash('sha256').update(attempt.codeVerifier).digest('base64url'),
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    });
    expect(request?.body).not.to.include(attempt.codeVerifier);
    expect(readCompactJws(client_assertion)?.claims.json).to.include({ iss: CLIENT, aud: idp.provider.issuer });
  });

  it('is authenticated by the secret, in the way that the provider takes', async () => {
    for (const methods of [['client_secret_basic'], ['client_secret_post']]) {
      requiring(answering(TAKEN, 201), { token_endpoint_auth_methods_supported: methods });
      server.received.length = 0;
      await addressOf(page({ clientSecret: secret }));
      const [request] = pushedRequests();
      const isPost = methods.includes('client_secret_post');
      expect(new URLSearchParams(request?.body).get('client_secret')).to.equal(isPost ? 'a secret:%' : null);
      expect(request?.headers.authorization === undefined).to.equal(isPost);
    }
  });

  it('is made if the setting or the metadata says so, and no request is sent otherwise', async () => {
    const optional = { require_pushed_authorization_requests: undefined };
    for (const [choice, changes, isPushed] of [
      ['auto', {}, true],
      ['always', {}, true],
      ['never', {}, false],
      ['auto', optional, false],
      ['always', optional, true],
      ['auto', { require_pushed_authorization_requests: 'true' }, false],
    ] as const) {
      requiring(answering(TAKEN, 201), changes);
      server.received.length = 0;
      const address = await addressOf(page({ pushedAuthorization: choice }));
      const title = `${choice} ${JSON.stringify(changes)}`;
      expect(address.searchParams.has('request_uri'), title).to.equal(isPushed);
      expect(address.searchParams.has('state'), title).to.equal(!isPushed);
      expect(server.received.filter(({ method }) => method === 'POST')).to.have.lengthOf(isPushed ? 1 : 0);
    }
  });

  it('accepts a status of 200, and numbers in text', async () => {
    requiring(answering({ ...TAKEN, expires_in: '90' }, 200));
    expect((await addressOf(page())).searchParams.get('request_uri')).to.equal(REQUEST_URI);
  });

  const long = 'x'.repeat(64 * 1024);
  const failures: Readonly<Record<string, readonly [SignInDenial, number, string | Members]>> = {
    'that it does not know the client': ['client_refused', 401, { error: 'invalid_client' }],
    'that the request is malformed': [
      'client_refused',
      400,
      { error: 'invalid_request', error_description: 'x'.repeat(9000) },
    ],
    'that it does not know the return address': ['client_refused', 400, { error: 'invalid_redirect_uri' }],
    'a 403 as a page': ['client_refused', 403, '<html>Forbidden</html>'],
    'that a proof is missing': ['sign_in_dpop_demanded', 400, { error: 'invalid_dpop_proof' }],
    'that it needs a nonce for a proof': ['sign_in_dpop_demanded', 401, { error: 'use_dpop_nonce' }],
    'that it has no time': ['provider_unavailable', 400, { error: 'temporarily_unavailable' }],
    'a 500': ['provider_unavailable', 500, '<html>Error</html>'],
    'a 429': ['provider_unavailable', 429, { error: 'slow_down' }],
    'a 400 as a page': ['provider_unreadable', 400, '<html>Bad request</html>'],
    'a page': ['provider_unreadable', 201, '<html>Sign in</html>'],
    nothing: ['provider_unreadable', 201, ''],
    'a redirect': ['provider_unreadable', 302, ''],
    'that there is nothing': ['provider_unreadable', 404, '{}'],
    'no request_uri': ['provider_unreadable', 201, { expires_in: 60 }],
    'an empty request_uri': ['provider_unreadable', 201, { ...TAKEN, request_uri: '' }],
    'a request_uri that is a list': ['provider_unreadable', 201, { ...TAKEN, request_uri: [REQUEST_URI] }],
    'two request_uri': ['provider_unreadable', 201, '{"request_uri":"urn:a","request_uri":"urn:b","expires_in":60}'],
    'a request_uri of 5 KiB': ['provider_unreadable', 201, { ...TAKEN, request_uri: 'x'.repeat(5 * 1024) }],
    'no lifetime': ['provider_unreadable', 201, { request_uri: REQUEST_URI }],
    '65 KiB': ['provider_unreadable', 201, { ...TAKEN, more: long }],
  };
  for (const [what, [reason, status, body]] of Object.entries(failures)) {
    it(`logs ${reason} if the provider answers ${what}, and nothing else that it sent`, async () => {
      requiring(answering(body, status));
      expect(await page().begin(attempt)).to.deep.equal(refused(reason));
      const lines = idp.log.lines.map((line) => JSON.parse(line));
      const expected = { level: 'warn', message: 'A sign-in was refused.', reason, fault: 'pushed_request' };
      expect(lines.at(-1)).to.include(expected);
      expect(JSON.stringify(lines)).not.to.match(/eyJ|xxxx|html|urn:|[sn]{43}/);
      if (reason === 'client_refused' && typeof body !== 'string') expect(lines.at(-1).error).to.equal(body.error);
    });
  }

  it("does not log a provider's error that repeats the state, the nonce or the assertion", async () => {
    for (const name of ['state', 'nonce', 'client_assertion']) {
      requiring((request, response) => {
        const sent = new URLSearchParams(request.body).get(name)?.split('.')[0]?.slice(0, 64);
        answering({ error: sent }, 400)(request, response);
      });
      expect(await page().begin(attempt), name).to.deep.equal(refused('client_refused'));
      expect(JSON.parse(idp.log.lines.at(-1) ?? '')).not.to.have.property('error');
    }
  });

  it('fails if the provider does not answer in time', async () => {
    requiring(() => undefined);
    const network = httpNetwork({ secureContext: testTrust });
    const hurried: Network = { send: (request) => network.send({ ...request, timeoutMs: 100 }) };
    expect(await page({}, undefined, undefined, hurried).begin(attempt)).to.deep.equal(refused('provider_unavailable'));
  });

  it('is impossible without a usable endpoint: the log names it, and a sign-out still works', async () => {
    for (const endpoint of [undefined, null, 'http://idp.example/par', '/par', 7]) {
      requiring(answering(TAKEN, 201), { pushed_authorization_request_endpoint: endpoint });
      idp.log.lines.length = 0;
      expect(await page().begin(attempt)).to.deep.equal(refused('provider_unreadable'));
      expect(idp.log.lines.join('\n')).to.include('"missing":"pushed_authorization_request_endpoint"');
      expect(await page().signOutAddress(undefined)).to.be.a('string');
    }
  });

  it('names in the log what the metadata demands if it is refused', async () => {
    const error_description = randomUUID();
    requiring(answering({ error: 'invalid_request', error_description }, 400), {
      require_signed_request_object: true,
      response_modes_supported: ['jwt'],
    });
    await page().begin(attempt);
    expect(JSON.parse(idp.log.lines.at(-1) ?? '').demands).to.equal(
      'require_signed_request_object response_modes_supported',
    );
    expect(idp.log.lines.join('\n')).not.to.include(error_description);
  });
});
