import { expect } from 'chai';
import fc from 'fast-check';
import {
  findRedirect,
  isLoopbackRedirect,
  matchesRedirect,
  redirectHost,
  redirectUriProblem,
  withAnswer,
} from '../../../domain/agents/redirect-uri.ts';

const LONG = `https://app.example/${'x'.repeat(2028)}`;

describe('A redirect URI', () => {
  const registrable = [
    'https://app.example',
    'https://app.example/',
    'https://app.example:8443/callback?tenant=7',
    'https://app.example/with%20space',
    LONG,
    'http://127.0.0.1',
    'http://127.0.0.1/',
    'http://127.0.0.1:1/callback',
    'http://127.0.0.1:65535/callback?from=cli',
    'http://[::1]/callback',
    'http://[::1]:8976',
    'http://localhost:33418/',
    'http://localhost?next',
    'cursor://anysphere.cursor-retrieval/oauth/callback',
    'vscode-insiders://vscode.github/did-authenticate?x=a@b',
    'com.example.app:/oauth2redirect',
    'com.example.app:///oauth2redirect',
    'app://[host]:7/x',
  ];
  it('may be registered with https, on loopback, or with the scheme of one program', () => {
    for (const uri of registrable) expect(redirectUriProblem(uri), uri).to.equal(undefined);
  });

  it('may have a query, with no parameter of an answer', () => {
    for (const name of ['code', 'state', 'iss', 'error', 'error_description', 'error_uri', '%63ode']) {
      for (const address of ['https://app.example/cb', 'http://127.0.0.1/cb', 'cursor://oauth/cb']) {
        expect(redirectUriProblem(`${address}?tenant=7&${name}=x`), name).to.contain('twice');
      }
    }
    expect(redirectUriProblem('https://app.example/cb?codes=1&State=2')).to.equal(undefined);
  });

  const refused = [
    '',
    'callback',
    '/callback',
    '//app.example/callback',
    'https:',
    'https://',
    'https:///callback',
    'https:app.example',
    'HTTPS://app.example/',
    'https://app.example/#',
    'https://app.example/#x',
    'https://user@app.example/',
    'https://user:secret@app.example/',
    'https://app.example\\@evil.example/',
    'https://app.example/a b',
    'https://app.example/\u00e9',
    'https://app.example/\n',
    ' https://app.example/',
    'https://app.example/%2',
    'https://0x7f.1/callback',
    'https://app.example:65536/',
    `${LONG}x`,
    // Hosts that only look like this computer, or are another spelling of it.
    'http://app.example/callback',
    'http://127.0.0.1.evil/callback',
    'http://127.0.0.1.evil.example:80/callback',
    'http://127.0.0.1@evil.example/callback',
    'http://localhost@evil.example/callback',
    'http://localhost:80@evil.example/callback',
    'http://localhost.evil.example/',
    'http://localhost./callback',
    'http://127.0.0.1./callback',
    'http://LOCALHOST/callback',
    'http://Localhost/callback',
    'HTTP://localhost/callback',
    'http://127.1/callback',
    'http://127.0.0.2/callback',
    'http://127.0.0.01/callback',
    'http://2130706433/callback',
    'http://0x7f000001/callback',
    'http://0.0.0.0/callback',
    'http://%6cocalhost/callback',
    'http://127.0.0.1%2eevil/callback',
    'http://127%2e0.0.1/callback',
    'http://\uff4cocalhost/callback',
    'http://[::]/callback',
    'http://[0:0:0:0:0:0:0:1]/callback',
    'http://[::0001]/callback',
    'http://[::ffff:127.0.0.1]/callback',
    'http://[::1%25lo]/callback',
    'http://::1/callback',
    'http://localhost\\@evil.example/',
    'http://localhost\t/callback',
    'http://localhost/call\nback',
    'http://localhost/#',
    'http:/localhost/callback',
    'http:localhost/callback',
    'http:///localhost/callback',
    // Ports.
    'http://127.0.0.1:0/callback',
    'http://127.0.0.1:/callback',
    'http://127.0.0.1:65536/callback',
    'http://127.0.0.1:99999/callback',
    'http://127.0.0.1:080/callback',
    'http://127.0.0.1:00080/callback',
    'http://127.0.0.1:+80/callback',
    'http://127.0.0.1:-1/callback',
    'http://127.0.0.1:8x/callback',
    'http://127.0.0.1:*/callback',
    'http://127.0.0.1:\u0661/callback',
    // Schemes that run, open or show what follows, or that are no program's own.
    'javascript:alert(1)',
    'javascript://app.example/%0aalert(1)',
    'JavaScript://app.example/',
    'java\nscript://app.example/',
    'data:text/html,x',
    'data://text/html,x',
    'file:///etc/passwd',
    'file://server/share',
    'blob:https://app.example/uuid',
    'blob://app.example/uuid',
    'vbscript://x/',
    'about://blank',
    'filesystem://app.example/x',
    'view-source://app.example/',
    'chrome-extension://abcdef/callback',
    'intent://app/callback',
    'mailto:ada@example.com',
    'tel:/1',
    'ms-msdt:/id',
    'ms-word://app/callback',
    'web+app://callback',
    'ftp://app.example/',
    'ws://app.example/',
    'urn:ietf:wg:oauth:2.0:oob',
    'cursor:callback',
    'cursor://user@host/callback',
    'cursor://host/callback#x',
    'Cursor://host/callback',
    '1cursor://host/callback',
    '://host/callback',
    'cursor://host/\u200b',
    'cursor://host/%zz',
  ];
  it('is refused if another reader could see another address in it, or a browser would run it', () => {
    for (const uri of refused) expect(redirectUriProblem(uri), JSON.stringify(uri)).to.be.a('string');
  });

  it('is refused with a sentence that repeats nothing of it', () => {
    fc.assert(
      fc.property(fc.constantFrom('http://', 'https://', 'x:', ''), fc.string(), (start, text) => {
        expect(redirectUriProblem(`${start}53cr3t ${text}`))
          .to.be.a('string')
          .and.not.include('53cr3t');
      }),
    );
  });
});

describe('A presented redirect URI', () => {
  const equal: readonly (readonly [string, string])[] = [
    ['https://app.example/callback', 'https://app.example/callback'],
    ['cursor://host/callback', 'cursor://host/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:51004/callback'],
    ['http://127.0.0.1:3000/callback', 'http://127.0.0.1/callback'],
    ['http://127.0.0.1:3000/callback?a=1', 'http://127.0.0.1:65535/callback?a=1'],
    ['http://[::1]/callback', 'http://[::1]:1/callback'],
    ['http://localhost:33418/', 'http://localhost:33419/'],
    ['http://127.0.0.1', 'http://127.0.0.1/'],
    ['http://127.0.0.1/', 'http://127.0.0.1:7'],
    ['http://localhost?a', 'http://localhost:7/?a'],
  ];
  it('is registered if it is the same text, on loopback at any port', () => {
    for (const [registered, presented] of equal) {
      expect(matchesRedirect(registered, presented), `${registered} ${presented}`).to.equal(true);
      expect(matchesRedirect(presented, registered), `${presented} ${registered}`).to.equal(true);
    }
  });

  const different: readonly (readonly [string, string])[] = [
    ['https://app.example', 'https://app.example/'],
    ['https://app.example/callback', 'https://app.example:443/callback'],
    ['https://app.example/callback', 'https://app.example:8443/callback'],
    ['https://app.example/callback', 'https://app.example/callback/'],
    ['https://app.example/callback', 'https://app.example/callback?'],
    ['https://app.example/callback', 'https://app.example/callback?x=1'],
    ['https://app.example/callback', 'https://app.example/%63allback'],
    ['https://app.example/callback', 'https://app.example/x/../callback'],
    ['https://app.example/callback', 'https://APP.example/callback'],
    ['https://app.example/callback', 'https://app.example./callback'],
    ['https://app.example/callback', 'https://app.example.evil.example/callback'],
    ['https://app.example/callback', 'http://app.example/callback'],
    ['https://localhost/callback', 'https://localhost:7/callback'],
    ['cursor://host/callback', 'cursor://host:7/callback'],
    ['cursor://host/callback', 'cursor:/host/callback'],
    ['http://127.0.0.1/callback', 'http://localhost/callback'],
    ['http://localhost/callback', 'http://127.0.0.1/callback'],
    ['http://localhost/callback', 'http://[::1]/callback'],
    ['http://127.0.0.1/callback', 'https://127.0.0.1/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1/callback/'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1/callback?'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1/Callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1/%63allback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1//callback'],
    ['http://127.0.0.1/callback?a=1', 'http://127.0.0.1/callback?a=2'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1/callback#'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:0/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:65536/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:080/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1.evil/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:80.evil/callback'],
    ['http://127.0.0.1/callback', 'http://127.0.0.1:80@evil.example/callback'],
    ['http://localhost/callback', 'http://localhost@evil.example/callback'],
    ['http://localhost/callback', 'http://evil.example/localhost/callback'],
    ['http://localhost/callback', 'http://LOCALHOST/callback'],
    ['http://localhost/callback', 'http://localhost./callback'],
    ['http://[::1]/callback', 'http://[0:0:0:0:0:0:0:1]/callback'],
    ['http://localhost/callback', 'http://localhost/callback\n'],
    ['http://localhost/', 'http://localhost/\\evil.example'],
    ['http://127.0.0.1', 'http://127.0.0.1.'],
  ];
  it('is not registered if anything else of it differs', () => {
    for (const [registered, presented] of different)
      expect(matchesRedirect(registered, presented), `${registered} ${presented}`).to.equal(false);
  });

  it('is where the answer goes, with the port of the request', () => {
    const registered = ['https://app.example/callback', 'http://127.0.0.1/callback'];
    expect(findRedirect(registered, 'http://127.0.0.1:51004/callback')).to.equal('http://127.0.0.1:51004/callback');
    expect(findRedirect(registered, 'https://app.example/callback')).to.equal('https://app.example/callback');
    expect(findRedirect(registered, 'https://app.example/')).to.equal(undefined);
    expect(findRedirect(registered, '')).to.equal(undefined);
    expect(findRedirect([], 'https://app.example/callback')).to.equal(undefined);
  });

  it('may be absent only if exactly one is registered, and its port is not free', () => {
    expect(findRedirect(['https://app.example/callback'], undefined)).to.equal('https://app.example/callback');
    expect(findRedirect(['cursor://host/callback'], undefined)).to.equal('cursor://host/callback');
    expect(findRedirect(['http://127.0.0.1:3000/callback'], undefined)).to.equal(undefined);
    expect(findRedirect(['https://app.example/', 'cursor://host/callback'], undefined)).to.equal(undefined);
    expect(findRedirect([], undefined)).to.equal(undefined);
  });
});

describe('A page about a redirect URI', () => {
  it('names the host, this computer, or the scheme of a program', () => {
    expect(redirectHost('https://app.example:8443/callback')).to.deep.equal({ kind: 'host', host: 'app.example:8443' });
    expect(redirectHost('https://APP.example/')).to.deep.equal({ kind: 'host', host: 'app.example' });
    for (const uri of ['http://127.0.0.1:7/', 'http://[::1]', 'http://localhost/callback'])
      expect(redirectHost(uri)).to.deep.equal({ kind: 'this_computer' });
    expect(redirectHost('cursor://host/callback')).to.deep.equal({ kind: 'scheme', scheme: 'cursor' });
    expect(redirectHost('com.example.app:/cb')).to.deep.equal({ kind: 'scheme', scheme: 'com.example.app' });
    expect(isLoopbackRedirect('https://localhost/')).to.equal(false);
  });
});

describe('An answer', () => {
  it('comes after the query of the redirect URI, which stays as it is written', () => {
    const answer = { code: 'a b&c', state: undefined, iss: 'https://mandate.test' };
    const query = 'code=a+b%26c&iss=https%3A%2F%2Fmandate.test';
    expect(withAnswer('https://app.example', answer)).to.equal(`https://app.example?${query}`);
    expect(withAnswer('cursor://host/cb', answer)).to.equal(`cursor://host/cb?${query}`);
    expect(withAnswer('http://[::1]:7/cb?x=%7e', answer)).to.equal(`http://[::1]:7/cb?x=%7e&${query}`);
    expect(withAnswer('https://app.example/?', answer)).to.equal(`https://app.example/?${query}`);
    expect(withAnswer('https://app.example/?x&', answer)).to.equal(`https://app.example/?x&${query}`);
  });
});
