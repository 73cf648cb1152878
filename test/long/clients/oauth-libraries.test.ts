/** The OAuth libraries of npm, unmodified, as agents with keys: `oauth4webapi` and `openid-client` with `private_key_jwt`. */

import { expect } from 'chai';
import { importJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { makeAgentKey } from '../../support/agents/agent-key.ts';
import { closeBrowser } from '../../support/browser.ts';
import { type Callback, startCallback } from '../../support/clients/callback.ts';
import { serveDocument } from '../../support/clients/document.ts';
import { type Door, doors } from '../../support/clients/doors.ts';
import { type PersonInBrowser, personInBrowser } from '../../support/clients/person.ts';
import { endTasks } from '../../support/clients/program.ts';
import { fieldsOf, JIRA, type RegisteredAgent } from '../../support/mandate.ts';

const REGISTERED = 'http://127.0.0.1/callback';
const insecure = { [oauth.allowInsecureRequests]: true };

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string;
  readonly scope?: string;
}

/** One client of a library. */
interface LibraryClient {
  /** The person answers at the address. @param answered resolves with the whole address of the answer */
  start(answered: (address: URL) => Promise<URL>): Promise<Tokens>;
  refresh(grant: string): Promise<Tokens>;
  revoke(token: string): Promise<void>;
}

interface Identity {
  readonly issuer: string;
  readonly clientId: string;
  readonly key: openid.CryptoKey;
  readonly kid: string;
  readonly redirectUri: string;
}

const SCOPE = 'jira:read jira:comment';

async function withOpenidClient({ issuer, clientId, key, kid, redirectUri }: Identity): Promise<LibraryClient> {
  const authentication = openid.PrivateKeyJwt({ key, kid });
  const config = await openid.discovery(new URL(issuer), clientId, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
  return {
    async start(answered) {
      const pkceCodeVerifier = openid.randomPKCECodeVerifier();
      const expectedState = openid.randomState();
      const address = openid.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: SCOPE,
        resource: JIRA,
        state: expectedState,
        code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
        code_challenge_method: 'S256',
      });
      const answer = await answered(address);
      return openid.authorizationCodeGrant(config, answer, { pkceCodeVerifier, expectedState });
    },
    refresh: (grant) => openid.refreshTokenGrant(config, grant),
    revoke: (token) => openid.tokenRevocation(config, token),
  };
}

async function withOauth4webapi({ issuer, clientId, key, kid, redirectUri }: Identity): Promise<LibraryClient> {
  const origin = new URL(issuer);
  const discovery = await oauth.discoveryRequest(origin, { algorithm: 'oauth2', ...insecure });
  const server = await oauth.processDiscoveryResponse(origin, discovery);
  const client = { client_id: clientId };
  const authentication = oauth.PrivateKeyJwt({ key, kid });
  return {
    async start(answered) {
      const verifier = oauth.generateRandomCodeVerifier();
      const state = oauth.generateRandomState();
      const address = new URL(server.authorization_endpoint ?? '');
      for (const [name, value] of Object.entries({
        client_id: clientId,
        redirect_uri: redirectUri,
        response_type: 'code',
        scope: SCOPE,
        resource: JIRA,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }))
        address.searchParams.set(name, value);
      const parameters = oauth.validateAuthResponse(server, client, await answered(address), state);
      const response = await oauth.authorizationCodeGrantRequest(
        server,
        client,
        authentication,
        parameters,
        redirectUri,
        verifier,
        insecure,
      );
      return oauth.processAuthorizationCodeResponse(server, client, response);
    },
    async refresh(grant) {
      const response = await oauth.refreshTokenGrantRequest(server, client, authentication, grant, insecure);
      return oauth.processRefreshTokenResponse(server, client, response);
    },
    async revoke(token) {
      const response = await oauth.revocationRequest(server, client, authentication, token, insecure);
      await oauth.processRevocationResponse(response);
    },
  };
}

const libraries = [
  ['openid-client', withOpenidClient],
  ['oauth4webapi', withOauth4webapi],
] as const;

describe('OAuth libraries with private_key_jwt', function () {
  this.timeout(120_000);
  after(() => closeBrowser());

  for (const { name, missing, start } of doors) {
    describe(`at ${name}`, () => {
      if (missing !== undefined) {
        it(`is skipped: Debian's packages ${missing} are not installed`, function () {
          this.skip();
        });
        return;
      }
      let door: Door;
      let person: PersonInBrowser;
      let callback: Callback;
      before(async () => {
        // Only agents with keys.
        door = await start({ 'Service:Authorize:PublicClients': 'false', 'Service:Authorize:Registration': 'off' });
        person = await personInBrowser(door);
        callback = await startCallback();
      });
      after(async () => {
        await person.close();
        await callback.close();
        await door.stop();
      });

      for (const [library, connect] of libraries) {
        for (const label of ['key', 'document'] as const) {
          const known = label === 'key' ? 'the id of its agent' : 'its document';
          it(`${library}, known by ${known}, starts a task, renews it with the same grant, and sees it end`, async () => {
            const { mandate } = door;
            const key = await makeAgentKey();
            const document = label === 'document' ? await serveDocument([REGISTERED], key.jwks) : undefined;
            const agent: RegisteredAgent = await mandate.agent(
              document
                ? { jwks: undefined, client_id_document: document.address }
                : { jwks: key.jwks, redirect_uris: [REGISTERED] },
            );
            const privateKey = await importJWK({ ...key.privateJwk }, 'ES256');
            if (privateKey instanceof Uint8Array) throw new Error('not a private key');
            const client = await connect({
              issuer: mandate.issuer,
              clientId: document?.address ?? agent.id,
              key: privateKey,
              kid: key.kid,
              redirectUri: callback.address,
            });
            const answered = async (address: URL) => {
              await person.answer(address, { without: ['jira:comment'] });
              return new URL(`${callback.address}?${await callback.next()}`);
            };
            let tokens: Tokens | undefined;
            const lines = await mandate.recorded(async () => {
              tokens = await client.start(answered);
            });
            expect(fieldsOf(lines, 'event', 'agent_id', 'scope')).to.deep.equal([
              ['authorization.allowed', agent.id, 'jira:read'],
              ['token.issued', agent.id, 'jira:read'],
              ['task.authorized', agent.id, 'jira:read'],
            ]);
            expect(String(lines[0]?.detail)).to.match(new RegExp(`&client=${label}$`));
            const grant = tokens?.refresh_token ?? '';
            const renewed = await client.refresh(grant);
            expect([renewed.scope, renewed.refresh_token ?? grant]).to.deep.equal(['jira:read', grant]);
            expect(await mandate.introspect(renewed.access_token)).to.deep.include({
              active: true,
              act: { sub: `agent:${agent.id}`, depth: 1 },
            });
            await endTasks(mandate, agent);
            const refused = await mandate.recorded(async () => {
              const refusal = await client.refresh(grant).catch((error: unknown) => error);
              expect(refusal).to.include({ error: 'invalid_grant', status: 400 });
              expect(refusal).to.have.nested.property('cause.reason', 'task_revoked');
            });
            expect(fieldsOf(refused, 'event', 'reason')).to.deep.equal([['token.denied', 'task_revoked']]);
            // Another task, which the agent ends itself.
            const other = await client.start(answered);
            await client.revoke(other.refresh_token ?? '');
            expect((await mandate.introspect(other.access_token)).active).to.equal(false);
            await document?.close();
          });
        }
      }
    });
  }
});
