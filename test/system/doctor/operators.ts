/** What `mandate doctor` finds about operators and their console. */

import { join } from 'node:path';
import { expect } from 'chai';
import { answering, type Handler, startLoopback } from '../../support/loopback.ts';
import { OPERATORS } from '../../support/operators.ts';
import type { Examined } from './examined.ts';
import { CONSOLE, consoleBehindProxy, endpointsAt, type Settings } from './examined.ts';

export function testOperators(examined: Examined): void {
  const { examine, expectFinding } = examined.withoutDatabase;

  it('warns of roles that no operator has, and finds operators whose provider does not answer', async () => {
    const [viewer, registrar] = ['Service:Operators:Roles:Viewer', 'Service:Operators:Roles:Registrar'];
    const vacant = { [viewer]: undefined, [registrar]: undefined };
    await expectFinding(
      vacant,
      'operators',
      'warning',
      /: viewer, registrar\. Only the holder of the admin key can do the work of: registrar\.$/,
    );
    // Every other role reads what a viewer reads.
    await expectFinding({ [viewer]: undefined }, 'operators', 'warning', /, so no operator has them: viewer\.$/);
    const silent = { 'Service:Operators:Issuer': 'http://127.0.0.1:9' };
    await expectFinding(silent, 'operators discovery', 'failed', /^Its metadata could not be read\./);
    const off = Object.fromEntries(Object.keys({ ...OPERATORS, ...silent }).map((key) => [key, undefined]));
    expect((await examine(off)).map(({ check }) => check).join()).not.to.include('operators');
  });

  it("finds what is wrong with the operators' own provider: a redirect, another issuer, unusable keys", async () => {
    const server = await startLoopback(answering({}));
    const document = { issuer: server.url, jwks_uri: `${server.url}/k`, ...endpointsAt(server.url) };
    const answers = (metadata: Handler, keys: Handler) => {
      server.answer = (request, response) => (request.path === '/k' ? keys : metadata)(request, response);
    };
    const find = (check: string, sentence: RegExp) =>
      expectFinding({ 'Service:Operators:Issuer': server.url }, check, 'failed', sentence);
    const redirect: Handler = (_request, response) => {
      response.writeHead(302, { location: '/elsewhere' }).end();
    };
    answers(redirect, answering({}));
    await find(
      'operators discovery',
      /^Its metadata could not be read\. .*That is a redirect, and none is followed\.$/,
    );
    answers(answering({ ...document, issuer: 'https://another.example' }), answering({}));
    await find('operators discovery', /^Its metadata could not be read\. /);
    answers(answering(document), answering({}, 404));
    await find('operators keys', /^Its keys could not be fetched\. .*404/);
    answers(answering(document), answering({ keys: [] }));
    await find('operators keys', /^Its keys could not be fetched\. /);
    await server.close();
  });

  it('says what the console needs at its provider: the return address, the keys, the logout address, the claims', async () => {
    const { mandate } = examined;
    const clientOf = async (changes: Settings) =>
      (await examine({ ...CONSOLE, ...changes })).find(({ check }) => check === 'console client');
    const client = await clientOf({ 'Service:Operators:RoleClaim': 'realm_access.roles' });
    expect(client?.status).to.equal('ok');
    for (const part of [
      'the client mandate-console needs the return address https://console.mandate.example/callback',
      'the address after a sign-out https://console.mandate.example/signed-out',
      `its key set ${mandate.issuer}/.well-known/jwks.json (private_key_jwt, ES256)`,
      `the back-channel logout address ${mandate.issuer}/backchannel-logout.`,
    ]) {
      expect(client?.sentence).to.include(part);
    }
    expect(client?.sentence).to.match(/ Its ID tokens need these claims: realm_access\.roles\.$/);
    const other = await clientOf({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' });
    expect(other?.sentence).to.match(/ Its ID tokens need these claims: roles, oid\.$/);
  });

  it('finds what the metadata lacks for the sign-in at the console, at the upstream provider, if operators have no other', async () => {
    const { folder } = examined;
    const setting = 'Service:UpstreamIdp:Issuer';
    const changes = { 'Service:Operators:Issuer': undefined };
    const server = await startLoopback(answering({}));
    const verdict = async (lacking: object, secret: Settings = {}) => {
      const document = { issuer: server.url, jwks_uri: `${server.url}/k`, ...endpointsAt(server.url) };
      server.answer = answering({ ...document, ...lacking });
      const found = await examine({ ...CONSOLE, ...changes, ...secret, [setting]: server.url });
      return found.find(({ check }) => check === 'console provider');
    };
    expect((await verdict({}))?.status).to.equal('ok');
    for (const [lacking, named] of [
      [{ authorization_endpoint: undefined }, 'authorization_endpoint'],
      [{ token_endpoint: undefined }, 'token_endpoint'],
      [{ token_endpoint: 'ftp://127.0.0.1/t' }, 'token_endpoint'],
    ] as const) {
      expect(await verdict(lacking), named).to.deep.equal({
        check: 'console provider',
        status: 'failed',
        sentence: `Operators cannot sign in at the console. The provider's metadata has no usable ${named}.`,
        remedy: 'See what its metadata names there: an absolute https URL, or http if the metadata is read over http.',
      });
    }
    for (const [lacking, named] of [
      [{ response_types_supported: ['id_token'] }, 'the response type code'],
      [{ code_challenge_methods_supported: ['plain'] }, 'the code challenge method S256'],
      [{ token_endpoint_auth_methods_supported: ['client_secret_basic'] }, 'private_key_jwt'],
      [{ token_endpoint_auth_signing_alg_values_supported: ['RS256'] }, 'client assertions signed with ES256'],
    ] as const) {
      expect(await verdict(lacking), named).to.deep.equal({
        check: 'console provider',
        status: 'warning',
        sentence: `The provider's metadata does not list ${named}, which the sign-in at the console uses.`,
        remedy:
          'Some providers accept more than they list: see `console client`, and sign in once. If that fails: Turn it on at the provider, or give Service:Operators:ClientSecret:Path.',
      });
    }
    const secret = { 'Service:Operators:ClientSecret:Path': join(folder, 'no-such-file') };
    const methods = { token_endpoint_auth_methods_supported: ['client_secret_basic'] };
    expect((await verdict(methods, secret))?.status, 'a secret needs no private_key_jwt').to.equal('ok');
    const unreadable = await examine({ ...CONSOLE, ...changes, ...secret });
    const client = unreadable.find(({ check }) => check === 'console client');
    expect(client?.status).to.equal('failed');
    expect(client?.sentence).to.match(/^Service:Operators:ClientSecret:Path .* does not exist/);
    server.answer = answering({}, 503);
    const unread = await examine({ ...CONSOLE, ...changes, [setting]: server.url });
    expect(unread.find(({ check }) => check === 'console provider')).to.include({
      status: 'skipped',
      sentence: 'Its metadata could not be read.',
    });
    await server.close();
  });

  it('names wrong settings of the console and of operators, and checks no console without a port', async () => {
    for (const missing of ['Service:Console:Port', 'Service:Console:Origin', 'Service:Operators:ClientId']) {
      const found = await examine({ ...CONSOLE, [missing]: undefined });
      const wrong = found.find(({ check, status }) => check === 'settings' && status === 'failed');
      expect(wrong?.sentence, missing).to.match(/Service:(Console:(Port|Origin)|Operators:ClientId)/);
    }
    expect((await examine({})).filter(({ check }) => check.startsWith('console'))).to.deep.equal([]);
    const roles = Object.keys(OPERATORS).filter((key) => key.includes(':Roles:'));
    const noRole = await examine(Object.fromEntries(roles.map((key) => [key, undefined])));
    expect(noRole.find(({ check }) => check === 'settings')).to.include({ status: 'failed' });
    expect(noRole.find(({ check }) => check === 'operators')).to.include({
      status: 'skipped',
      sentence: 'Its settings are wrong.',
    });
  });

  it('warns if the origin of the console leads nowhere, elsewhere, or to another release', async () => {
    const proxy = await startLoopback(consoleBehindProxy);
    // A development host may have a plain origin.
    const development = { ...CONSOLE, NODE_ENV: 'development', 'Service:Console:Origin': proxy.url };
    const verdict = async (answer: Handler) => {
      proxy.answer = answer;
      return (await examine(development)).find(({ check }) => check === 'console address');
    };
    expect(await verdict(consoleBehindProxy)).to.deep.equal({
      check: 'console address',
      status: 'ok',
      sentence: 'Service:Console:Origin answers with the console of this release.',
    });
    const redirect: Handler = (_request, response) => {
      response.writeHead(301, { location: 'https://elsewhere.example/' }).end();
    };
    for (const [answer, sentence] of [
      [answering('<h1>It works!</h1>'), /^What answers at Service:Console:Origin is not the console\.$/],
      [answering({}, 404), /did not answer with the console of this release\. The answer's status was 404\.$/],
      [redirect, /status was 301\. That is a redirect, and none is followed\.$/],
    ] as const) {
      const found = await verdict(answer);
      expect(found?.status, `${sentence}`).to.equal('warning');
      expect(found?.sentence).to.match(sentence);
      expect(found?.remedy).to.match(/\.$/);
    }
    await proxy.close();
    const silent = await verdict(answering({}));
    expect(silent?.status).to.equal('warning');
    expect(silent?.sentence).to.match(/did not answer with the console of this release\. .*ECONNREFUSED/);
    expect(silent?.remedy).to.include('Service:Console:Port');
  });
}
