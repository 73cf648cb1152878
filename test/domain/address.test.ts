import { expect } from 'chai';
import fc from 'fast-check';
import { audienceProblem, issuerProblem, jwksUriProblem } from '../../domain/address.ts';

const ISSUER = 'https://mandate.test';

describe('an audience', () => {
  const accepted = [
    'https://jira.example',
    'http://localhost:3000/mcp',
    'https://jira.example/',
    'https://jira.example/a/b%20c?space=7&x=[1]',
    'https://jira.example?x=1',
    'HTTPS://Jira.Example',
    'https://[::1]:8443/x',
    'https://xn--bcher-kva.example',
    `https://jira.example/${'x'.repeat(2048 - 21)}`,
  ];
  for (const text of accepted) {
    it(`may be ${text.slice(0, 60)}`, () => {
      expect(audienceProblem(text)).to.equal(undefined);
    });
  }

  const refused: readonly [string, string][] = [
    ['nothing', ''],
    ['a relative reference', '/mcp'],
    ['a name', 'jira'],
    ['another scheme', 'ftp://jira.example'],
    ['a URN', 'urn:example:jira'],
    ['a scheme without slashes', 'https:jira.example'],
    ['an empty host', 'https:///jira'],
    ['userinfo', 'https://bank.example@jira.example'],
    ['an empty userinfo', 'https://@jira.example'],
    ['a fragment', 'https://jira.example/#here'],
    ['an empty fragment', 'https://jira.example/#'],
    ['white space around it', ' https://jira.example'],
    ['a tab that URL parsers drop', 'https://ji\tra.example'],
    ['a line feed at its end', 'https://jira.example\n'],
    ['a backslash that URL parsers turn around', 'https:\\\\jira.example'],
    ['a NUL', 'https://jira.example/\0'],
    ['a lone surrogate', 'https://jira.example/\ud800'],
    ['a letter that is not ASCII', 'https://jirа.example'],
    ['a percent sign that encodes nothing', 'https://jira.example/%zz'],
    ['an encoded host', 'https://jir%61.example'],
    ['a host that parsers read as a number', 'https://0x7f.1'],
    ['a port that does not exist', 'https://jira.example:65536'],
    ['a character too many', `https://jira.example/${'x'.repeat(2048 - 20)}`],
  ];
  for (const [what, text] of refused) {
    it(`is refused if it is or has ${what}`, () => {
      expect(audienceProblem(text)).to.be.a('string');
    });
  }

  it('stays the same if a URL parser reads and writes it', () => {
    fc.assert(
      fc.property(fc.webUrl({ withQueryParameters: true, validSchemes: ['http', 'https'] }), (text) => {
        if (audienceProblem(text) !== undefined) return;
        const url = new URL(text);
        expect(text.toLowerCase()).to.satisfy((lower: string) => lower.startsWith(`${url.protocol}//${url.hostname}`));
        expect([url.username, url.password, url.hash]).to.deep.equal(['', '', '']);
      }),
    );
  });
});

describe('a jwks_uri', () => {
  it('may be on another host, and on another port of a development machine', () => {
    expect(jwksUriProblem('https://keys.example/jwks.json', ISSUER)).to.equal(undefined);
    expect(jwksUriProblem('https://localhost:6000/jwks.json', 'http://localhost:5100')).to.equal(undefined);
  });

  it('must be https', () => {
    expect(jwksUriProblem('http://keys.example/jwks.json', ISSUER)).to.match(/absolute https URL/);
  });

  for (const text of ['https://u:p@keys.example', 'https://keys.example/#k', 'keys.example', 'https://']) {
    it(`must be absolute, without userinfo or fragment: not ${text}`, () => {
      expect(jwksUriProblem(text, ISSUER)).to.match(/absolute https URL/);
    });
  }

  const own = [
    'https://mandate.test/agents/jira-triage/jwks.json',
    'https://MANDATE.test:443/keys',
    'https://mandate.test./keys',
    'https://mandate.test:8443/keys',
  ];
  for (const text of own) {
    it(`must not be on the control plane’s host: not ${text}`, () => {
      expect(jwksUriProblem(text, ISSUER)).to.match(/host of its own/);
    });
  }
});

describe('the address of a control plane', () => {
  for (const text of [
    'https://mandate.test',
    'https://mandate.test/tenant-7/',
    'http://localhost:5100',
    'http://[::1]',
    'https://mandate.test/well-known/a.well-known/.well-known-service',
  ]) {
    it(`may be ${text}`, () => {
      expect(issuerProblem(text)).to.equal(undefined);
    });
  }

  for (const [text, problem] of [
    ['http://mandate.test', /https/],
    ['http://10.0.0.7:5100', /https/],
    ['http://localhost.evil.example', /https/],
    ['https://mandate.test/?tenant=7', /query/],
    ['https://mandate.test?', /query/],
    ['https://user@mandate.test', /absolute https URL/],
    ['https://mandate.test/#x', /absolute https URL/],
    ['mandate.test', /absolute https URL/],
    ['https://mandate.test/.well-known', /address of metadata/],
    ['https://mandate.test/.well-known/openid-configuration', /address of metadata/],
    ['https://mandate.test/.well-known/oauth-authorization-server/tenant-7', /address of metadata/],
    ['https://mandate.test/tenant-7/.well-known/openid-configuration/', /address of metadata/],
  ] as const) {
    it(`may not be ${text}`, () => {
      expect(issuerProblem(text)).to.match(problem);
    });
  }
});
