import { expect } from 'chai';
import { polledSponsors } from '../../../adapters/identity-provider/polled-sponsors.ts';
import type { ServiceTokens } from '../../../adapters/identity-provider/service-token.ts';
import { fixedToken, serviceTokens } from '../../../adapters/identity-provider/service-token.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { SponsorDirectory } from '../../../application/ports/identity-provider.ts';
import { Secret } from '../../../domain/secret.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { answering, type Handler, loopbackForSuite, STATUSES_WITHOUT_DOCUMENT } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

const ADA = '5f1c8d0e-ada';
/** Answers for the requested person, as Keycloak does. */
const person =
  (enabled: boolean): Handler =>
  (request, response) => {
    const id = decodeURIComponent(request.path.split('/').at(-1) ?? '');
    answering({ id, username: 'ada', enabled })(request, response);
  };
const ACTIVE = person(true);
const DISABLED = person(false);
const UNAVAILABLE = 'sponsor_status_unavailable';

describe('The sponsor check by poll', () => {
  const server = loopbackForSuite((request, response) =>
    request.path === '/token' ? token(request, response) : users(request, response),
  );
  let clock: MovedClock;
  let log: CapturedLog;
  let directory: SponsorDirectory;
  /** How the token endpoint and the users endpoint answer. */
  let token: Handler;
  let users: Handler;
  let issued: number;
  beforeEach(() => {
    issued = 0;
    token = (request, response) => {
      issued += 1;
      answering({ access_token: `token-${issued}`, token_type: 'Bearer', expires_in: 86_400 })(request, response);
    };
    users = ACTIVE;
    clock = movedClock();
    clock.standStill();
    log = capturedLog();
    directory = make(`${server.url}/admin/realms/people/users`);
  });

  function make(usersUrl: string): SponsorDirectory {
    // A new network has no kept connection. A GET that is cut on a kept connection is sent again.
    const network = httpNetwork();
    const tokens: ServiceTokens = serviceTokens(
      { tokenUrl: `${server.url}/token`, clientId: 'mandate-service', scope: undefined, assertionAudience: 'issuer' },
      {
        network,
        clock,
        metadata: { current: async () => ({ issuer: server.url, jwksUri: `${server.url}/keys` }) },
        assertion: async () => 'an.assertion.here',
      },
    );
    return polledSponsors(usersUrl, { network, clock, log, tokens });
  }
  const userRequests = () => server.received.filter((request) => request.path !== '/token');
  const ask = (maxAge = 0, subject = ADA) => directory.status(subject, maxAge);

  it('requests the users URL with the sub and the service token', async () => {
    expect(await ask()).to.equal('active');
    const [request] = userRequests();
    expect(request).to.include({ method: 'GET', path: `/admin/realms/people/users/${ADA}` });
    expect(request?.headers.authorization).to.equal('Bearer token-1');
  });

  it('accepts a users URL with a slash at its end', async () => {
    directory = make(`${server.url}/users/`);
    expect(await ask()).to.equal('active');
    expect(userRequests()[0]?.path).to.equal(`/users/${ADA}`);
  });

  it('returns whether a person is active, disabled or unknown', async () => {
    users = DISABLED;
    expect(await ask()).to.equal('sponsor_disabled');
    users = answering({ error: 'User not found' }, 404);
    expect(await ask()).to.equal('sponsor_not_found');
    users = ACTIVE;
    expect(await ask()).to.equal('active');
    expect(log.lines).to.deep.equal([]);
  });

  describe('takes a 404 for the answer about the person', () => {
    for (const [title, body] of [
      ['without a body', ''],
      ['with an object', '{}'],
      ["with Keycloak's error about a person", { error: 'User not found' }],
      ['with an error that is not a text', { error: { code: 'HTTP 404' } }],
      ['with an error that only contains the words', { error: 'no user: HTTP 404' }],
    ] as const) {
      it(title, async () => {
        users = answering(body, 404);
        expect(await ask(30)).to.equal('sponsor_not_found');
      });
    }
  });

  describe('takes a 404 for a failure of the provider, not remembered and counted,', () => {
    for (const [title, answer] of [
      ['with the text of a proxy', answering('404 page not found\n', 404)],
      ['with HTML', answering('<html><h1>404 Not Found</h1></html>', 404)],
      ['with a line break only', answering('\n', 404)],
      ['with a list', answering([], 404)],
      ['with a string', answering('"not found"', 404)],
      ['with null', answering('null', 404)],
      ['with an object that is ambiguous', answering('{"error":"User not found","error":"HTTP 404"}', 404)],
      ["with Keycloak's error about a path", answering({ error: 'HTTP 404 Not Found' }, 404)],
      [
        "with Keycloak's older error about a path",
        answering({ error: 'Unable to find matching target resource method' }, 404),
      ],
      ["with RESTEasy's error about a path", answering({ error: 'RESTEASY003210: Could not find resource' }, 404)],
      ['with bytes that are not UTF-8', (_, response) => response.writeHead(404).end(Buffer.from([0xff]))],
      ['with a body over 256 KiB', answering({ padding: 'x'.repeat(262_144) }, 404)],
    ] satisfies [string, Handler][]) {
      it(title, async () => {
        users = answer;
        expect(await ask(30)).to.equal(UNAVAILABLE);
        users = ACTIVE;
        expect(await ask(30)).to.equal('active');
        users = answer;
        for (let time = 0; time < 5; time += 1) expect(await ask()).to.equal(UNAVAILABLE);
        const asked = server.received.length;
        expect(await ask()).to.equal(UNAVAILABLE);
        expect(server.received, 'the circuit is open').to.have.length(asked);
        expect(log.lines.join()).not.to.contain(ADA).and.not.to.contain('token-1');
      });
    }
  });

  for (const status of STATUSES_WITHOUT_DOCUMENT) {
    it(`does not accept an answer with the status ${status}, even with an enabled person`, async () => {
      users = answering({ id: ADA, username: 'ada', enabled: true }, status);
      expect(await ask()).to.equal(status === 404 ? 'sponsor_not_found' : UNAVAILABLE);
    });
  }

  describe('treats a sub as one path segment:', () => {
    for (const sub of ['.', '..', '', 'a\ud800']) {
      it(`${JSON.stringify(sub)} is an unknown person, without a request`, async () => {
        expect(await ask(0, sub)).to.equal('sponsor_not_found');
        expect(server.received).to.have.length(0);
      });
    }

    for (const sub of [
      ...['...', 'a?b=c', 'a#b', 'a%2Fb', '%2e%2e', 'a/b', 'a/../b', '../users/5f1c', '..%2Fb', '/', '/'.repeat(256)],
      ...['a\\b', '..\\x', '%', '%zz', 'a b', 'auth0|5f1c', 'ünï', 'a;b', 'a&b', "o'hara", '👋', '*'],
    ]) {
      it(`${JSON.stringify(sub)} reaches the provider unchanged`, async () => {
        expect(await ask(0, sub)).to.equal('active');
        const path = userRequests()[0]?.path ?? '';
        expect(path.startsWith('/admin/realms/people/users/')).to.equal(true);
        expect(decodeURIComponent(path.slice('/admin/realms/people/users/'.length))).to.equal(sub);
        expect(path).not.to.match(/[?#]/);
      });
    }
  });

  it('accepts an answer whose id is absent or not a string', async () => {
    for (const id of [undefined, null, 42, true, [ADA], { id: 'another' }]) {
      users = answering({ id, enabled: true });
      expect(await ask()).to.equal('active');
      users = answering({ id, enabled: false });
      expect(await ask()).to.equal('sponsor_disabled');
    }
  });

  describe('refuses the person, and keeps requesting, after an unusable answer:', () => {
    for (const [title, answer] of [
      ['status 400', answering({}, 400)],
      ['status 403', answering({ error: 'unknown_error' }, 403)],
      ['a redirect', (_, response) => response.writeHead(302, { location: '/users/other' }).end()],
      ['status 204', (_, response) => response.writeHead(204).end()],
      ['a body that is not JSON', answering('<html>')],
      ['a list', answering([{ enabled: true }])],
      ['no enabled', answering({ id: ADA })],
      ['a string as enabled', answering({ id: ADA, enabled: 'true' })],
      ['null as enabled', answering({ id: ADA, enabled: null })],
      ['the id of another person', answering({ id: 'another', enabled: true })],
      ['the id of another, disabled person', answering({ id: 'another', enabled: false })],
      ['an empty id', answering({ id: '', enabled: true })],
      ['the same id in other letter case', answering({ id: ADA.toUpperCase(), enabled: true })],
      ['a repeated enabled', answering('{"enabled":true,"enabled":false}')],
      ['enabled within __proto__', answering('{"__proto__":{"enabled":true}}')],
      ['a body over 256 KiB', answering({ enabled: true, padding: 'x'.repeat(262_144) })],
      [
        'a body that is not UTF-8',
        (_, response) => response.end(Buffer.from('{"enabled":true,"a":"\u00ff"}', 'latin1')),
      ],
    ] satisfies [string, Handler][]) {
      it(title, async () => {
        for (let time = 0; time < 6; time += 1) {
          users = answer;
          expect(await ask(30)).to.equal(UNAVAILABLE);
        }
        users = ACTIVE;
        expect(await ask(30)).to.equal('active');
        expect(log.lines).to.have.length(6);
        expect(log.lines.join()).not.to.contain(ADA).and.not.to.contain('token-1');
      });
    }
  });

  describe('sends no request for five seconds after five consecutive failures:', () => {
    const cut: Handler = (_, response) => response.destroy();
    for (const [title, down] of [
      ['status 500', { users: answering('', 500) }],
      ['status 503', { users: answering('', 503) }],
      ['status 429', { users: answering('', 429) }],
      [
        'status 503 with an unreadable body',
        { users: (_, response) => response.writeHead(503).end(Buffer.from([0xff])) },
      ],
      ['a cut connection', { users: cut }],
      ['status 500 of the token endpoint', { token: answering('', 500) }],
      ['status 401 of the token endpoint', { token: answering({ error: 'invalid_client' }, 401) }],
      ['a cut connection to the token endpoint', { token: cut }],
    ] as readonly [string, { readonly users?: Handler; readonly token?: Handler }][]) {
      it(title, async () => {
        users = down.users ?? users;
        token = down.token ?? token;
        for (let time = 0; time < 4; time += 1) expect(await ask()).to.equal(UNAVAILABLE);
        const before = server.received.length;
        expect(await ask()).to.equal(UNAVAILABLE);
        expect(server.received.length).to.be.greaterThan(before);
        const asked = server.received.length;
        clock.advance(4.5);
        expect(await Promise.all([ask(), ask(30), ask(0, 'another')])).to.deep.equal(Array(3).fill(UNAVAILABLE));
        expect(server.received).to.have.length(asked);
      });
    }
  });

  describe('when the connection breaks before any byte of an answer,', () => {
    it('asks each time once more on a new connection, also if all idle connections are dead', async () => {
      expect(await Promise.all(Array.from({ length: 12 }, () => ask()))).to.deep.equal(Array(12).fill('active'));
      const dead = new Set(userRequests().map(({ connection }) => connection));
      expect(dead.size).to.equal(12);
      const [usualToken, isDead] = [token, ({ connection }: { connection: number }) => dead.has(connection)];
      users = (request, response) => (isDead(request) ? response.destroy() : ACTIVE(request, response));
      token = (request, response) => (isDead(request) ? response.destroy() : usualToken(request, response));
      // The service token is over as well, and a POST is not repeated by the network.
      clock.advance(86_400);
      for (let time = 0; time < 12; time += 1) expect(await ask()).to.equal('active');
      expect(await Promise.all(Array.from({ length: 12 }, () => ask()))).to.deep.equal(Array(12).fill('active'));
      expect(log.lines).to.deep.equal([]);
    });

    it('asks once more about a person, and for a token, on a first connection, and counts no failure', async () => {
      const cutting = (usual: () => Handler): Handler => {
        let times = 0;
        return (request, response) => {
          times += 1;
          if (times % 2 === 1) response.destroy();
          else usual()(request, response);
        };
      };
      const usual = token;
      token = cutting(() => usual);
      users = cutting(() => ACTIVE);
      for (let time = 0; time < 6; time += 1) {
        directory = make(`${server.url}/users`);
        expect(await ask()).to.equal('active');
      }
    });

    it('asks once more only', async () => {
      users = (_, response) => response.destroy();
      expect(await ask()).to.equal(UNAVAILABLE);
      expect(userRequests()).to.have.length(2);
    });

    it('does not ask again after the first byte', async () => {
      users = (_, response) => response.socket?.end('H');
      expect(await ask()).to.equal(UNAVAILABLE);
      expect(userRequests()).to.have.length(1);
    });
  });

  it("logs the provider's error, unless it repeats the person or the token", async () => {
    for (const [error, shown] of [
      ['unknown_error', ', and its error is "unknown_error"'],
      [`no ${ADA}`, ''],
      ['bad token-1', ''],
    ] as const) {
      log = capturedLog();
      directory = make(`${server.url}/users`);
      issued = 0;
      users = answering({ error }, 403);
      await ask();
      expect(log.lines.join()).to.contain(JSON.stringify(`The answer's status was 403${shown}.`).slice(1, -1));
      expect(log.lines.join()).not.to.contain(ADA).and.not.to.contain('token-1');
    }
  });

  it("logs no provider's error that repeats the person as the address names them", async () => {
    const [sub, inAddress] = ['zoë@x.org', 'zo%C3%AB%40x.org'];
    users = answering({ error: `no user ${inAddress}` }, 403);
    expect(await directory.status(sub, 0)).to.equal(UNAVAILABLE);
    expect(userRequests().at(-1)?.path).to.include(inAddress);
    expect(log.lines.join()).to.contain("The answer's status was 403.").and.not.to.contain('x.org');
  });

  it('asks with a configured token, and once only if that is refused', async () => {
    const secret = 'b'.repeat(32);
    directory = polledSponsors(`${server.url}/users`, {
      network: httpNetwork(),
      clock,
      log,
      tokens: fixedToken(new Secret(secret)),
    });
    expect(await ask()).to.equal('active');
    users = answering({ error: `expired: ${secret}` }, 401);
    expect(await ask()).to.equal(UNAVAILABLE);
    expect(server.received.map(({ path, headers }) => [path, headers.authorization])).to.deep.equal(
      Array(2).fill([`/users/${ADA}`, `Bearer ${secret}`]),
    );
    expect(log.lines.join()).not.to.contain('bbbbbbbb');
  });

  it('sends one request five seconds after five failures, and every request after its answer', async () => {
    users = answering('', 500);
    for (let time = 0; time < 5; time += 1) await ask();
    users = ACTIVE;
    clock.advance(5);
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal(['active', UNAVAILABLE, UNAVAILABLE]);
    expect(await Promise.all([ask(), ask()])).to.deep.equal(['active', 'active']);
  });

  it('counts a failed token request once for all callers that shared it', async () => {
    token = answering('', 500);
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    token = answering({ access_token: 'a', token_type: 'Bearer' });
    expect(await ask()).to.equal('active');
  });

  it('counts a provider that does not answer within ten seconds as a failure', async () => {
    // The ten seconds cover both requests. The token request uses them up.
    token = (request, response) => {
      clock.advance(10);
      answering({ access_token: 'a', token_type: 'Bearer', expires_in: 10 })(request, response);
    };
    for (let time = 0; time < 5; time += 1) {
      expect(await ask()).to.equal(UNAVAILABLE);
      clock.advance(10);
    }
    clock.advance(-10);
    const asked = server.received.length;
    expect(await ask()).to.equal(UNAVAILABLE);
    expect(server.received).to.have.length(asked);
    expect(userRequests()).to.have.length(0);
  });

  describe('when the provider refuses the service token,', () => {
    const refusing =
      (refused: readonly string[]): Handler =>
      (request, response) => {
        const is401 = refused.includes(String(request.headers.authorization));
        if (is401) answering({ error: 'HTTP 401 Unauthorized' }, 401)(request, response);
        else ACTIVE(request, response);
      };

    it('gets a new token and repeats the request once', async () => {
      await ask();
      users = refusing(['Bearer token-1']);
      expect(await ask()).to.equal('active');
      expect(await ask()).to.equal('active');
      expect(issued).to.equal(2);
    });

    it('repeats the request only once, and does not count a failure', async () => {
      users = answering({}, 401);
      for (let time = 0; time < 6; time += 1) {
        server.received.length = 0;
        expect(await ask()).to.equal(UNAVAILABLE);
        expect(userRequests()).to.have.length(2);
      }
    });
  });

  describe('caches', () => {
    it('no answer for a maximum age of zero', async () => {
      expect(await ask(0)).to.equal('active');
      users = DISABLED;
      expect(await ask(30)).to.equal('sponsor_disabled');
      expect(userRequests()).to.have.length(2);
    });

    it('no answer of the same instant for a maximum age of zero', async () => {
      const instant = clock.now();
      clock = { ...clock, now: () => instant };
      directory = make(`${server.url}/users`);
      await ask(30);
      users = DISABLED;
      expect(await ask(0)).to.equal('sponsor_disabled');
    });

    it('an answer for callers that accept its age', async () => {
      expect(await ask(30)).to.equal('active');
      users = DISABLED;
      clock.advance(29);
      expect(await ask(30)).to.equal('active');
      expect(await ask(28)).to.equal('sponsor_disabled');
      expect(userRequests()).to.have.length(2);
    });

    it('no answer for callers that accept only newer ones', async () => {
      await ask(30);
      users = DISABLED;
      clock.advance(30.1);
      expect(await ask(30)).to.equal('sponsor_disabled');
    });

    it('a refusal, for its own person only', async () => {
      users = DISABLED;
      await ask(30);
      users = answering({}, 404);
      expect(await ask(30, 'gone')).to.equal('sponsor_not_found');
      users = ACTIVE;
      expect(await ask(30)).to.equal('sponsor_disabled');
      expect(await ask(30, 'gone')).to.equal('sponsor_not_found');
      expect(await ask(30, 'grace')).to.equal('active');
    });

    it('no answer that a newer answer contradicts', async () => {
      await ask(30);
      users = DISABLED;
      expect(await ask(0)).to.equal('sponsor_disabled');
      expect(await ask(30)).to.equal('sponsor_disabled');
    });

    it('an answer that stays usable while the provider is down', async () => {
      await ask(30);
      users = answering('', 500);
      for (let time = 0; time < 6; time += 1) expect(await ask()).to.equal(UNAVAILABLE);
      expect(await ask(30)).to.equal('active');
    });

    it('no failure of the provider', async () => {
      users = answering('', 500);
      await ask(30);
      users = ACTIVE;
      expect(await ask(30)).to.equal('active');
    });

    it('an answer with the time of its request, not of its arrival', async () => {
      users = (request, response) => {
        clock.advance(8);
        ACTIVE(request, response);
      };
      await ask(10);
      users = DISABLED;
      clock.advance(2.5);
      expect(await ask(10)).to.equal('sponsor_disabled');
    });
  });
});
