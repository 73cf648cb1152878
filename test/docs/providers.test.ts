/** Checks the settings on the provider pages, and compares Keycloak's realm with its page. No provider runs here. */

import { readdirSync, readFileSync } from 'node:fs';
import { expect } from 'chai';
import { readSettings } from '../../composition/settings/read-settings.ts';
import { authorizeClient } from '../../composition/settings/sign-in-clients.ts';
import { endsPeople } from '../support/ends-people.ts';

const at = (path: string) => new URL(`../../${path}`, import.meta.url);
const text = (path: string) => readFileSync(at(path), 'utf8');

/** Settings that every service needs, beside those of its provider. */
const REST: Readonly<Record<string, string>> = {
  Service__Issuer: 'https://mandate.example',
  Service__Database__ConnectionString: 'postgresql://mandate:secret@db.example/mandate',
  Service__Signing__Keys__0__Path: '/run/secrets/signing-key.pem',
};
const SECRETS: Readonly<Record<string, string>> = {
  SCIM_TOKEN: 'a'.repeat(32),
  SSF_TOKEN: 'b'.repeat(32),
  USERS_TOKEN: 'c'.repeat(32),
};

/**
 * The marked settings of a page, as environment variables. `in addition` extends the block before. `of a trial` are those of
 * a development host, which permits plain HTTP.
 */
function environments(page: string): readonly Readonly<Record<string, string>>[] {
  const found: Record<string, string>[] = [];
  for (const [, mark, block = ''] of page.matchAll(
    /^<!-- settings(: in addition|: of a trial)? -->\n```sh\n(.*?)^```$/gms,
  )) {
    const pairs = block
      .trimEnd()
      .split('\n')
      .map((line) => {
        const [, name = '', value = ''] = /^(Service(?:__\w+)+)=(\S+)$/.exec(line) ?? fail(`no setting: ${line}`);
        return [name, value.replaceAll(/\$\{(\w+)\}/g, (_, secret: string) => SECRETS[secret] ?? fail(secret))];
      });
    const before = mark === ': in addition' ? found.at(-1) : mark === ': of a trial' ? { NODE_ENV: 'development' } : {};
    found.push({ ...before, ...Object.fromEntries(pairs) });
  }
  return found;
}

function fail(what: string): never {
  throw new Error(what);
}

const names = readdirSync(at('docs/providers/')).sort();
const keycloak = text('docs/providers/keycloak.md');

describe('docs/providers', () => {
  it('has a page each for Keycloak, Okta, Entra ID and any other provider', () => {
    expect(names).to.deep.equal(['entra-id.md', 'keycloak.md', 'okta.md', 'openid.md']);
  });

  for (const name of names) {
    const page = text(`docs/providers/${name}`);

    it(`${name} has only valid settings, with which the service notices that the provider disabled a person`, () => {
      const found = environments(page);
      // Every block must have its mark; other blocks are not read.
      expect(found)
        .to.have.lengthOf(page.match(/^```sh\nService__/gm)?.length ?? 0)
        .greaterThan(0);
      for (const environment of found) {
        const result = readSettings({ environment: { ...REST, ...environment }, overrides: [] });
        expect(result).to.deep.include({ kind: 'valid', unknown: [] });
        if (result.kind === 'valid') expect(endsPeople(result.settings)).to.equal(true);
      }
    });

    it(`${name} says what was tried, names the claim of the person, and ends with doctor`, () => {
      expect(page).to.include('**What was tried.**');
      expect(page).to.match(/claim(?: that)? is the person/);
      const ending = page.slice(page.indexOf('\n## Test it\n'));
      expect(ending)
        .to.include('\nnpx --no mandate doctor\n')
        .and.to.include('\nnpx --no mandate doctor --subject-token - --person < ');
      expect(ending.lastIndexOf('\n## ')).to.equal(0);
    });
  }
});

interface Realm {
  readonly realm: string;
  readonly accessTokenLifespan: number;
  readonly clientScopes: readonly {
    readonly name: string;
    readonly attributes: Readonly<Record<string, string>>;
    readonly protocolMappers?: readonly {
      readonly name: string;
      readonly protocolMapper: string;
      readonly config: Readonly<Record<string, string>>;
    }[];
  }[];
  readonly clients: readonly {
    readonly clientId: string;
    readonly publicClient: boolean;
    readonly standardFlowEnabled: boolean;
    readonly directAccessGrantsEnabled: boolean;
    readonly serviceAccountsEnabled: boolean;
    readonly clientAuthenticatorType?: string;
    readonly secret?: string;
    readonly redirectUris?: readonly string[];
    readonly defaultClientScopes: readonly string[];
    readonly optionalClientScopes: readonly string[];
    readonly attributes: Readonly<Record<string, string>>;
  }[];
  readonly users: readonly {
    readonly username: string;
    readonly serviceAccountClientId?: string;
    readonly credentials?: unknown;
    readonly clientRoles: Readonly<Record<string, readonly string[]>>;
  }[];
}

describe("Keycloak's realm", () => {
  const realm = JSON.parse(text('docs/examples/keycloak/realm.json')) as Realm;
  const [settings = {}] = environments(keycloak);
  const of = (name: string) => settings[`Service__UpstreamIdp__${name}`] ?? fail(name);
  const scopeOf = (name: string) => realm.clientScopes.find((one) => one.name === name) ?? fail(name);
  const clientOf = (id: string) => realm.clients.find(({ clientId }) => clientId === id) ?? fail(id);
  const portal = clientOf(of('BackchannelLogout__Audience'));
  const poll = clientOf(of('SponsorCheck__ClientId'));

  it('has the name in the settings, and the token lifetime on the page', () => {
    expect(of('Issuer')).to.match(new RegExp(`/realms/${realm.realm}$`));
    expect(of('SponsorCheck__UsersUrl')).to.match(new RegExp(`/admin/realms/${realm.realm}/users$`));
    expect(of('SponsorCheck__TokenUrl')).to.equal(`${of('Issuer')}/protocol/openid-connect/token`);
    expect(keycloak).to.include(`Tokens live ${realm.accessTokenLifespan} seconds`);
  });

  it('has no client, scope or mapper for Mandate that the page does not name', () => {
    for (const { clientId } of realm.clients) expect(keycloak).to.include(`| client | \`${clientId}\` |`);
    for (const name of ['mandate', ...portal.optionalClientScopes]) {
      expect(keycloak).to.match(new RegExp(`^\\| client scope[^|]*\\|[^|]*\`${name}\``, 'm'));
    }
    for (const { name } of scopeOf('mandate').protocolMappers ?? []) expect(keycloak).to.include(`\`${name}\``);
  });

  it('adds the audience in the settings to access tokens of the portal', () => {
    expect(portal.defaultClientScopes).to.include.members(['mandate', 'basic']);
    const [audience, ...others] = scopeOf('mandate').protocolMappers ?? [];
    expect(others).to.deep.equal([]);
    expect(audience?.protocolMapper).to.equal('oidc-audience-mapper');
    expect(audience?.config).to.include({
      'included.custom.audience': of('Audience'),
      'access.token.claim': 'true',
    });
  });

  it('adds sub, and the scopes that the portal requests, to access tokens', () => {
    const sub = scopeOf('basic').protocolMappers?.find(({ protocolMapper }) => protocolMapper === 'oidc-sub-mapper');
    expect(sub?.config).to.include({ 'access.token.claim': 'true' });
    expect(portal.optionalClientScopes).to.have.length.greaterThan(0);
    for (const name of portal.optionalClientScopes) {
      expect(scopeOf(name).attributes).to.include({ 'include.in.token.scope': 'true' });
    }
  });

  it('defines every client scope that a client has', () => {
    for (const client of realm.clients) {
      for (const name of [...client.defaultClientScopes, ...client.optionalClientScopes]) scopeOf(name);
    }
  });

  it('gives the client of tasks that a person starts what the page says, and every scope of the agents', () => {
    const [, more = {}] = environments(keycloak);
    const door = clientOf(more.Service__Authorize__ClientId ?? fail('Authorize'));
    expect(door).to.include({
      publicClient: false,
      standardFlowEnabled: true,
      directAccessGrantsEnabled: false,
      serviceAccountsEnabled: false,
      clientAuthenticatorType: 'client-jwt',
    });
    const settings = { ...REST, ...more };
    const result = readSettings({ environment: settings, overrides: [] });
    if (result.kind === 'invalid') throw new Error('invalid');
    expect(door.redirectUris).to.deep.equal([authorizeClient(result.settings)?.redirectUri]);
    expect(door.defaultClientScopes).to.have.members(['basic', 'mandate']);
    expect(door.optionalClientScopes).to.deep.equal(portal.optionalClientScopes);
    expect(door.attributes).to.include({
      ...poll.attributes,
      'pkce.code.challenge.method': 'S256',
      'backchannel.logout.url': `${REST.Service__Issuer}/backchannel-logout`,
      'backchannel.logout.session.required': 'true',
    });
  });

  it('sends logout tokens of a session to Mandate', () => {
    expect(portal.attributes).to.include({
      'backchannel.logout.url': `${REST.Service__Issuer}/backchannel-logout`,
      'backchannel.logout.session.required': 'true',
    });
  });

  it('lets Mandate authenticate with its own key, and only view users', () => {
    expect(poll).to.include({
      publicClient: false,
      standardFlowEnabled: false,
      directAccessGrantsEnabled: false,
      serviceAccountsEnabled: true,
      clientAuthenticatorType: 'client-jwt',
    });
    expect(poll.attributes).to.deep.equal({
      'use.jwks.url': 'true',
      'jwks.url': `${REST.Service__Issuer}/.well-known/jwks.json`,
      'token.endpoint.auth.signing.alg': 'ES256',
    });
    const [account, ...others] = realm.users;
    expect(others, 'no person').to.deep.equal([]);
    expect(account).to.include({
      username: `service-account-${poll.clientId}`,
      serviceAccountClientId: poll.clientId,
    });
    expect(account?.clientRoles).to.deep.equal({ 'realm-management': ['view-users'] });
    // Keycloak's admin API reads roles from the token, and the scope `roles` adds them.
    expect(poll.defaultClientScopes).to.include('roles');
    const kinds = scopeOf('roles').protocolMappers?.map(({ protocolMapper }) => protocolMapper);
    expect(kinds).to.include('oidc-usermodel-client-role-mapper');
  });

  it('has no secret and no password', () => {
    for (const client of realm.clients) expect(client).not.to.have.property('secret');
    for (const user of realm.users) expect(user).not.to.have.property('credentials');
  });
});
