import { expect } from 'chai';
import { type MachineMark, machineMark } from '../../../domain/sponsors/machine-token.ts';
import type { JsonObject } from '../../../domain/tokens/strict-json.ts';

/** The claims beside an `iss`, dates and a scope that all providers send. */
const cases: readonly (readonly [string, JsonObject, MachineMark | undefined])[] = [
  // Machines.
  ['RFC 9068: sub is client_id', { sub: 'svc', client_id: 'svc', scope: 'jira:read' }, 'sub_is_client'],
  ['sub is azp', { sub: 'svc', azp: 'svc' }, 'sub_is_client'],
  ['sub is azp beside another client_id', { sub: 'svc', azp: 'svc', client_id: 'portal' }, 'sub_is_client'],
  ['Okta: sub is cid', { sub: '0oa1', cid: '0oa1', scp: ['jira:read'] }, 'sub_is_client'],
  ['Auth0, its profile', { sub: 'M2M@clients', azp: 'M2M', gty: 'client-credentials' }, 'sub_is_client'],
  ['Auth0, its profile for RFC 9068', { sub: 'M2M@clients', client_id: 'M2M' }, 'sub_is_client'],
  ['gty as text', { sub: 'svc', gty: 'client-credentials' }, 'gty'],
  ['gty as the grant type of OAuth', { sub: 'svc', gty: 'client_credentials' }, 'gty'],
  ['gty as a list', { sub: 'svc', gty: ['client-credentials'] }, 'gty'],
  ['gty as a list with more', { sub: 'svc', gty: [7, null, 'client-credentials'] }, 'gty'],
  ['Entra ID', { sub: 'object-9', oid: 'object-9', azp: 'app-1', idtyp: 'app', roles: ['Read'] }, 'idtyp'],
  [
    'Keycloak',
    { sub: 'uuid-1', azp: 'batch', client_id: 'batch', preferred_username: 'service-account-batch' },
    'service_account',
  ],
  [
    'an older Keycloak',
    { sub: 'uuid-1', azp: 'batch', clientId: 'batch', preferred_username: 'service-account-batch' },
    'service_account',
  ],
  [
    'Entra ID, version 2, without idtyp',
    { sub: 'object-9', oid: 'object-9', azp: 'app-1', azpacr: '1', roles: ['Read'], ver: '2.0' },
    'sub_is_oid',
  ],
  [
    'Entra ID, version 1, without idtyp',
    { sub: 'object-9', oid: 'object-9', appid: 'app-1', appidacr: '2', ver: '1.0' },
    'sub_is_oid',
  ],
  [
    'Keycloak without client_id',
    { sub: 'uuid-1', azp: 'Batch', preferred_username: 'service-account-batch' },
    'service_account',
  ],
  [
    'Keycloak, a reserved name beside any client',
    { sub: 'uuid-1', azp: 'portal', client_id: 'portal', preferred_username: 'service-account-desk' },
    'service_account',
  ],

  // People.
  ['a client beside a person', { sub: 'ada', client_id: 'portal', azp: 'portal', cid: 'portal' }, undefined],
  ['no client', { sub: 'ada' }, undefined],
  ['a client in other letter case', { sub: 'SVC', client_id: 'svc', azp: 'Svc' }, undefined],
  ['an empty client', { sub: 'ada', client_id: '', azp: '' }, undefined],
  ['a client that is a number', { sub: '7', client_id: 7, azp: 7 }, undefined],
  ['a client that is a list', { sub: 'svc', client_id: ['svc'] }, undefined],
  ['clients that are null', { sub: 'ada', client_id: null, azp: null, cid: null }, undefined],
  ['the suffix of Auth0 after another client', { sub: 'other@clients', azp: 'M2M' }, undefined],
  ['another grant', { sub: 'ada', gty: 'password' }, undefined],
  ['other grants', { sub: 'ada', gty: ['authorization_code', 'mfa'] }, undefined],
  ['marks that are null', { sub: 'ada', gty: null, idtyp: null, preferred_username: null }, undefined],
  ['gty of other types', { sub: 'ada', gty: { 'client-credentials': true }, idtyp: ['app'] }, undefined],
  ['gty as a list in a list', { sub: 'ada', gty: [['client-credentials']] }, undefined],
  ['idtyp of a person', { sub: 'ada', idtyp: 'user' }, undefined],
  [
    'the name of a service account, no client',
    { sub: 'ada', azp: 'portal', preferred_username: 'service-account-x' },
    undefined,
  ],
  [
    'the name of a service account, a client that is null',
    { sub: 'ada', client_id: null, clientId: null, preferred_username: 'service-account-x' },
    undefined,
  ],
  [
    'a person of Entra ID',
    { sub: 'pairwise-1', oid: 'object-1', azp: 'app-1', azpacr: '1', scp: 'jira.read', ver: '2.0' },
    undefined,
  ],
  [
    'a person of Entra ID whose roles are read',
    { sub: 'pairwise-1', oid: 'object-1', appid: 'app-1', appidacr: '0', roles: ['mandate-stop'] },
    undefined,
  ],
  ['oid as sub with scopes', { sub: 'object-1', oid: 'object-1', azpacr: '1', scp: 'jira.read' }, undefined],
  ['oid as sub of another provider', { sub: 'object-1', oid: 'object-1', azp: 'app-1' }, undefined],
  ['no sub and no oid', { azpacr: '1' }, undefined],
  ['a client beside a person of Keycloak', { sub: 'ada', client_id: 'portal', preferred_username: 'ada' }, undefined],
];

describe('the marks of a token that a client got for itself', () => {
  for (const [what, claims, mark] of cases) {
    it(`${what}: ${mark ?? "a person's"}`, () => expect(machineMark(claims)).to.equal(mark));
  }

  it('finds no mark on the prototype of the claims', () => {
    expect(machineMark(Object.create({ sub: 'svc', client_id: 'svc', gty: 'client-credentials' }))).to.equal(undefined);
  });
});
