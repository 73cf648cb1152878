import { expect } from 'chai';
import fc from 'fast-check';
import { issuerPath, withoutIssuerPath } from '../../../adapters/http/routes.ts';
import { optionalRows } from '../../support/optional-paths.ts';

describe('The path of an issuer', () => {
  it('follows its host and has no slash at the end', () => {
    expect(issuerPath('https://mandate.example')).to.equal('');
    expect(issuerPath('https://mandate.example/')).to.equal('');
    expect(issuerPath('https://mandate.example:8443/tenants/one/')).to.equal('/tenants/one');
    expect(issuerPath('https://mandate.example/a%20b')).to.equal('/a%20b');
  });

  it('changes no request target when it is empty', () => {
    const same = withoutIssuerPath('https://mandate.example');
    fc.assert(fc.property(fc.string(), (target) => same(target) === target));
  });

  const stripped = withoutIssuerPath('https://mandate.example/tenants/one');
  for (const [target, served] of [
    ['/tenants/one/oauth2/token', '/oauth2/token'],
    ['/tenants/one/oauth2/nothing-here', '/oauth2/nothing-here'],
    ['/tenants/one/audit?limit=1', '/audit?limit=1'],
    ['/tenants/one/healthz', '/healthz'],
    ['/tenants/one/scim/v2/Users?filter=a/b', '/scim/v2/Users?filter=a/b'],
    ['/tenants/one/.well-known/openid-configuration', '/.well-known/openid-configuration'],
    ['/.well-known/openid-configuration/tenants/one', '/.well-known/openid-configuration'],
    ['/.well-known/oauth-authorization-server/tenants/one?x=1', '/.well-known/oauth-authorization-server?x=1'],
  ] as const) {
    it(`is removed from ${target}`, () => expect(stripped(target)).to.equal(served));
  }

  for (const target of [
    '/oauth2/token',
    '/.well-known/jwks.json',
    '/.well-known/jwks.json/tenants/one',
    '/.well-known/openid-configuration/tenants/one/',
    '/.well-known/openid-configuration/tenants/two',
    '/tenants/one',
    '/tenants/one/',
    '/tenants/one?x=/oauth2/token',
    '/tenants/one/nothing-here',
    '/tenants/one/oauth2x/token',
    '/tenants/one//oauth2/token',
    '/tenants/onex/oauth2/token',
    '/Tenants/one/oauth2/token',
    '/tenants%2Fone/oauth2/token',
    '/tenants/one%2Foauth2/token',
    '/x?/tenants/one/oauth2/token',
    '*',
    '',
  ]) {
    it(`is not removed from "${target}"`, () => expect(stripped(target)).to.equal(target));
  }

  it('is removed only once', () => {
    expect(stripped('/tenants/one/tenants/one/oauth2/token')).to.equal('/tenants/one/tenants/one/oauth2/token');
  });

  it('is removed only if a path of the service follows it, also if a path of the service begins with it', () => {
    const under = withoutIssuerPath('https://mandate.example/oauth2');
    expect(under('/oauth2/token')).to.equal('/oauth2/token');
    expect(under('/oauth2/oauth2/token')).to.equal('/oauth2/token');
    expect(under('/oauth2/.well-known/jwks.json')).to.equal('/.well-known/jwks.json');
    expect(withoutIssuerPath('https://mandate.example/scim')('/scim/v2/Users')).to.equal('/scim/v2/Users');
  });

  it('is removed in front of a person’s own path only if there is one', () => {
    const path = '/tenants/one/me/tasks?limit=1';
    expect(stripped(path)).to.equal(path);
    expect(withoutIssuerPath('https://mandate.example/tenants/one', [optionalRows.me])(path)).to.equal(
      '/me/tasks?limit=1',
    );
  });

  it('is removed in front of a status list only if there are status lists', () => {
    const path = '/tenants/one/status/q80B-f_nWEZ5HLXzGk6-zA';
    expect(stripped(path)).to.equal(path);
    expect(withoutIssuerPath('https://mandate.example/tenants/one', [optionalRows.statusLists])(path)).to.equal(
      path.slice('/tenants/one'.length),
    );
    const same = withoutIssuerPath('https://mandate.example/status', [optionalRows.statusLists]);
    expect([same('/status/status/x'), same('/status/x')]).to.deep.equal(['/status/x', '/status/x']);
  });
});
