/** Sign-ins that are refused: the reason, and what the log says about it. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { SignInDenial } from '../../../domain/sign-in-denial.ts';
import {
  attempt,
  CLIENT,
  type Members,
  providerForSuite,
  refused,
  secret,
} from '../../support/identity-provider/shaped-provider.ts';
import { answering, startLoopback } from '../../support/loopback.ts';
import { makeSigningKey } from '../../support/signing-key.ts';

describe('The sign-in', () => {
  const idp = providerForSuite();
  const { server, shaped, page, answerOf, finish, tokenRequest } = idp;

  /** The changed claims, and what the log says is wrong. */
  const claims: Readonly<Record<string, readonly [SignInDenial, string, (now: number) => Members]>> = {
    'for another client': ['id_token_refused', 'subject_audience_mismatch', () => ({ aud: 'people-desk' })],
    'for several clients, used by another': [
      'id_token_refused',
      'other_azp',
      () => ({ aud: [CLIENT, 'people-desk'], azp: 'people-desk' }),
    ],
    'for several clients, used by none': [
      'id_token_refused',
      'other_azp',
      () => ({ aud: [CLIENT, 'people-desk'], azp: undefined }),
    ],
    'for this client alone, used by another': ['id_token_refused', 'other_azp', () => ({ azp: 'people-desk' })],
    'of another issuer': ['id_token_refused', 'subject_untrusted_issuer', () => ({ iss: 'https://other.example' })],
    'that is over': ['id_token_refused', 'subject_expired', (now) => ({ iat: now - 900, exp: now - 300 })],
    'without an end': ['id_token_refused', 'subject_missing_expiry', () => ({ exp: undefined })],
    'without a beginning': ['id_token_refused', 'no_issued_at', () => ({ iat: undefined })],
    'without a nonce': ['id_token_refused', 'other_nonce', () => ({ nonce: undefined })],
    'with the nonce of another sign-in': ['id_token_refused', 'other_nonce', () => ({ nonce: 'x'.repeat(43) })],
    'of an agent': ['account_refused', 'subject_is_agent', () => ({ sub: 'AGENT:jira-triage' })],
    'of the client itself': ['account_refused', 'subject_not_a_person', () => ({ sub: CLIENT, azp: CLIENT })],
    'of a grant without a user': ['account_refused', 'subject_not_a_person', () => ({ gty: 'client-credentials' })],
    'that is delegated': [
      'account_refused',
      'subject_already_delegated',
      () => ({ act: { sub: 'agent:jira-triage' } }),
    ],
    'without a person': ['id_token_refused', 'subject_missing_subject', () => ({ sub: undefined })],
    'whose sid no logout could name': ['id_token_refused', 'subject_malformed', () => ({ sid: 7 })],
  };
  for (const [what, [reason, fault, change]] of Object.entries(claims)) {
    it(`refuses an ID token ${what}, and logs ${reason} with ${fault}`, async () => {
      shaped();
      idp.provider.claims = { ...idp.provider.claims, ...change(idp.clock.seconds()) };
      expect(await finish()).to.deep.equal(refused(reason));
      const [line = ''] = idp.log.lines.filter((each) => each.includes('A sign-in was refused.'));
      expect(JSON.parse(line)).to.include({ level: 'warn', reason, fault });
      expect(idp.log.lines.join('\n')).not.to.include('eyJ');
    });
  }

  it('refuses an ID token that another key signed, is not signed, or is missing', async () => {
    shaped();
    const foreign = await makeSigningKey('RS256');
    const unsigned = [{ alg: 'none' }, idp.provider.claims].map((part) =>
      Buffer.from(JSON.stringify(part)).toString('base64url'),
    );
    for (const [id_token, reason] of [
      [foreign.sign({ alg: 'RS256', kid: idp.key.kid, typ: 'JWT' }, idp.provider.claims), 'id_token_refused'],
      [`${unsigned.join('.')}.`, 'id_token_refused'],
      ['no token', 'id_token_refused'],
      [undefined, 'provider_unreadable'],
      [null, 'provider_unreadable'],
      [7, 'provider_unreadable'],
    ]) {
      idp.provider.answer = { id_token };
      expect(await finish()).to.deep.equal(refused(String(reason)));
    }
  });

  it('accepts members that are null, of odd forms, or more than are needed, and metadata that lists no algorithm', async () => {
    shaped('Keycloak', { id_token_signing_alg_values_supported: undefined });
    idp.provider.answer = { refresh_token: null, scope: ['openid'], expires_in: '3599', id_token_hint: {} };
    for (const auth_time of [null, String(idp.clock.seconds()), -1, 0.5]) {
      idp.provider.claims = { ...idp.provider.claims, auth_time, azp: null, acr: null };
      expect(await finish(), String(auth_time)).to.have.nested.property('person.authenticatedAt', undefined);
    }
  });

  it('refuses an answer that does not name the issuer, if the provider always does, or names another (RFC 9207)', async () => {
    shaped();
    for (const query of [`?code=a-code&state=${attempt.state}`, answerOf({ iss: 'https://other.example' })]) {
      expect(await finish(page(), query)).to.deep.equal(refused('sign_in_answer_refused'));
    }
    expect(tokenRequest()).to.equal(undefined);
  });

  it('takes an answer with the state of another sign-in, without one or with two for the answer to another', async () => {
    shaped();
    const another = answerOf({ state: 'x'.repeat(43) });
    for (const query of [another, `${answerOf()}&state=${attempt.state}`, '?error=access_denied', '?', '']) {
      expect(await finish(page(), query), query).to.deep.equal(refused('sign_in_superseded'));
    }
    expect(server.received).to.deep.equal([]);
  });

  /** An error in the return address, and the reason for the log. */
  const errors: Readonly<Record<string, SignInDenial>> = {
    temporarily_unavailable: 'provider_unavailable',
    server_error: 'provider_unavailable',
    access_denied: 'sign_in_cancelled',
    login_required: 'login_required',
    consent_required: 'login_required',
    interaction_required: 'login_required',
    account_selection_required: 'login_required',
    unauthorized_client: 'client_refused',
    invalid_scope: 'client_refused',
    invalid_request: 'client_refused',
    'an error that no RFC defines': 'client_refused',
  };
  for (const [error, reason] of Object.entries(errors)) {
    it(`logs ${reason} if the provider sends the person back with ${error}, and nothing else that it sent`, async () => {
      shaped();
      const error_description = `secret-${randomUUID()}`.padEnd(12_000, 'x');
      expect(await finish(page(), answerOf({ error, error_description }))).to.deep.equal(refused(reason));
      const [line = ''] = idp.log.lines;
      expect(JSON.parse(line)).to.include({ level: 'warn', reason });
      expect(JSON.parse(line).error).to.equal(error.includes(' ') ? undefined : error);
      expect(line).not.to.include('secret-');
      expect(tokenRequest()).to.equal(undefined);
    });
  }

  const long = `${'x'.repeat(64 * 1024)}`;
  /** What the token endpoint answers, and the reason for the log. */
  const answers: Readonly<Record<string, readonly [SignInDenial, number, string | Members]>> = {
    'that it does not know the client': ['client_refused', 401, { error: 'invalid_client', error_description: 'y' }],
    'that the client may not do this': ['client_refused', 400, { error: 'unauthorized_client' }],
    'that the request lacks a parameter': ['client_refused', 400, { error: 'invalid_request' }],
    'a 401 without a word': ['client_refused', 401, ''],
    'a 403 without a word': ['client_refused', 403, ''],
    'a 403 as a page': ['client_refused', 403, '<html>Forbidden</html>'],
    'that it does not know the code': ['sign_in_code_refused', 400, { error: 'invalid_grant' }],
    'the same in another word': ['sign_in_code_refused', 400, { error: 'invalid_code' }],
    'that it has no time': ['provider_unavailable', 400, { error: 'temporarily_unavailable' }],
    'a 500': ['provider_unavailable', 500, '<html>Error</html>'],
    'a 503': ['provider_unavailable', 503, ''],
    'a 429': ['provider_unavailable', 429, { error: 'slow_down' }],
    'a page': ['provider_unreadable', 200, '<html>Sign in</html>'],
    nothing: ['provider_unreadable', 200, ''],
    'no content': ['provider_unreadable', 204, ''],
    'a list': ['provider_unreadable', 200, '[]'],
    'a redirect': ['provider_unreadable', 302, ''],
    'that there is nothing': ['provider_unreadable', 404, '<html>Not found</html>'],
    'no access token': ['provider_unreadable', 200, { access_token: null }],
    'an error of 64 KiB': ['provider_unreadable', 400, { error: 'invalid_client', error_description: long }],
  };
  for (const [what, [reason, status, body]] of Object.entries(answers)) {
    it(`logs ${reason} if the token endpoint answers ${what}`, async () => {
      shaped();
      idp.provider.status = status;
      if (typeof body === 'string') idp.provider.body = body;
      else idp.provider.answer = body;
      expect(await finish()).to.deep.equal(refused(reason));
      const [line = ''] = idp.log.lines;
      expect(line.length).to.be.below(500);
      expect(JSON.parse(line)).to.include({ level: 'warn', message: 'A sign-in was refused.', reason });
      expect(line).not.to.match(/eyJ|a-code|xxxx|html/);
    });
  }

  it('finds a demand for a proof of a key in the words of the provider, and not in a code that it repeats', async () => {
    shaped();
    idp.provider.status = 400;
    const finds = async (code: string, error_description: string) => {
      idp.provider.answer = { error: 'invalid_grant', error_description };
      return finish(page(), answerOf({ code }));
    };
    expect(await finds('a-code', 'A DPoP proof is missing')).to.deep.equal(refused('sign_in_dpop_demanded'));
    for (const code of ['dpop', 'no DPoP proof', 'x_dpop']) {
      expect(await finds(code, `The code ${code.replace('_', ' ')} is unknown`), code).to.deep.equal(
        refused('sign_in_code_refused'),
      );
    }
  });

  describe('says that the answer of the provider is unusable', () => {
    const unreadable = refused('provider_unreadable');

    it('if its metadata names no usable endpoint: it answers, and waiting does not help', async () => {
      for (const change of [
        { authorization_endpoint: undefined },
        { token_endpoint: 'http://idp.example/token' },
        { authorization_endpoint: 'javascript:alert(1)' },
      ]) {
        shaped('Keycloak', change);
        expect(await page().begin(attempt)).to.deep.equal(unreadable);
        expect(await finish()).to.deep.equal(unreadable);
        expect(await page().signOutAddress(undefined)).to.equal(undefined);
      }
    });

    it('if a document that was read over https names an http issuer and http endpoints: the secret would be readable', async () => {
      const plain = await startLoopback(answering({}));
      const endpoints = { token_endpoint: `${plain.url}/token`, authorization_endpoint: `${plain.url}/authorize` };
      shaped('Keycloak', { issuer: plain.url, ...endpoints, end_session_endpoint: `${plain.url}/logout` });
      const url = `${idp.provider.issuer}/.well-known/openid-configuration`;
      const signing = page({ clientSecret: secret }, { kind: 'metadata_url', url });
      expect(await signing.begin(attempt)).to.deep.equal(unreadable);
      expect(await finish(signing, answerOf({ iss: plain.url }))).to.deep.equal(unreadable);
      expect(await signing.signOutAddress(undefined)).to.equal(undefined);
      expect(plain.received).to.deep.equal([]);
      await plain.close();
    });
  });

  describe('says that the provider is unavailable', () => {
    const unavailable = refused('provider_unavailable');

    it('if its metadata is not there', async () => {
      shaped('Keycloak', { issuer: 'https://other.example' });
      expect(await page().begin(attempt)).to.deep.equal(unavailable);
      expect(await finish()).to.deep.equal(unavailable);
      expect(await page().signOutAddress(undefined)).to.equal(undefined);
    });

    it('if its keys are not there', async () => {
      shaped('Keycloak', { jwks_uri: `${server.url.replace(/\d+$/, '9')}/keys` });
      expect(await finish()).to.deep.equal(unavailable);
    });
  });

  it('logs the OAuth code of a refusal, and nothing else that the provider sent', async () => {
    shaped();
    const secret = `secret-${randomUUID()}`;
    idp.provider.status = 401;
    idp.provider.answer = { error: 'invalid_client', error_description: secret };
    expect(await finish()).to.deep.equal(refused('client_refused'));
    expect(idp.log.lines.join('\n')).to.include('invalid_client').and.not.include(secret);
  });
});
