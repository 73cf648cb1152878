/** What the sponsor check does while the provider fails, and which answers it caches. */

import { expect } from 'chai';
import { ACTIVE, DISABLED, pollingForEachTest, UNAVAILABLE } from '../../support/identity-provider/polled-directory.ts';
import { answering, type Handler } from '../../support/loopback.ts';

describe('The sponsor check by poll', () => {
  const polling = pollingForEachTest();
  const { server, make, userRequests, ask } = polling;

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
        polling.users = down.users ?? polling.users;
        polling.token = down.token ?? polling.token;
        for (let time = 0; time < 4; time += 1) expect(await ask(0, `person-${time}`)).to.equal(UNAVAILABLE);
        const before = server.received.length;
        expect(await ask()).to.equal(UNAVAILABLE);
        expect(server.received.length).to.be.greaterThan(before);
        const asked = server.received.length;
        polling.clock.advance(4.5);
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
      const [usualToken, isDead] = [polling.token, ({ connection }: { connection: number }) => dead.has(connection)];
      polling.users = (request, response) => (isDead(request) ? response.destroy() : ACTIVE(request, response));
      polling.token = (request, response) => (isDead(request) ? response.destroy() : usualToken(request, response));
      // The service token is over as well, and a POST is not repeated by the network.
      polling.clock.advance(86_400);
      for (let time = 0; time < 12; time += 1) expect(await ask()).to.equal('active');
      expect(await Promise.all(Array.from({ length: 12 }, () => ask()))).to.deep.equal(Array(12).fill('active'));
      expect(polling.log.lines).to.deep.equal([]);
    });

    it('repeats a query and a token request once, also on a first connection, and counts no failure', async () => {
      const cutting = (usual: () => Handler): Handler => {
        let times = 0;
        return (request, response) => {
          times += 1;
          if (times % 2 === 1) response.destroy();
          else usual()(request, response);
        };
      };
      const usual = polling.token;
      polling.token = cutting(() => usual);
      polling.users = cutting(() => ACTIVE);
      for (let time = 0; time < 6; time += 1) {
        polling.directory = make(`${server.url}/users`);
        expect(await ask()).to.equal('active');
      }
    });

    it('asks once more only', async () => {
      polling.users = (_, response) => response.destroy();
      expect(await ask()).to.equal(UNAVAILABLE);
      expect(userRequests()).to.have.length(2);
    });

    it('does not ask again after the first byte', async () => {
      polling.users = (_, response) => response.socket?.end('H');
      expect(await ask()).to.equal(UNAVAILABLE);
      expect(userRequests()).to.have.length(1);
    });
  });

  it('sends one request five seconds after five failures, and every request after its answer', async () => {
    polling.users = answering('', 500);
    for (let time = 0; time < 5; time += 1) await ask(0, `person-${time}`);
    polling.users = ACTIVE;
    polling.clock.advance(5);
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal(['active', UNAVAILABLE, UNAVAILABLE]);
    expect(await Promise.all([ask(), ask()])).to.deep.equal(['active', 'active']);
  });

  it('counts a failed token request once for all callers that shared it', async () => {
    polling.token = answering('', 500);
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    polling.token = answering({ access_token: 'a', token_type: 'Bearer' });
    expect(await ask()).to.equal('active');
  });

  it('counts a provider that does not answer within ten seconds as a failure', async () => {
    // The ten seconds cover both requests. The token request uses them up.
    polling.token = (request, response) => {
      polling.clock.advance(10);
      answering({ access_token: 'a', token_type: 'Bearer', expires_in: 10 })(request, response);
    };
    for (let time = 0; time < 5; time += 1) {
      expect(await ask(0, `person-${time}`)).to.equal(UNAVAILABLE);
      polling.clock.advance(10);
    }
    polling.clock.advance(-10);
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
      polling.users = refusing(['Bearer token-1']);
      expect(await ask()).to.equal('active');
      expect(await ask()).to.equal('active');
      expect(polling.issued).to.equal(2);
    });

    it('repeats the request only once, and does not count a failure', async () => {
      polling.users = answering({}, 401);
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
      polling.users = DISABLED;
      expect(await ask(30)).to.equal('sponsor_disabled');
      expect(userRequests()).to.have.length(2);
    });

    it('no answer of the same instant for a maximum age of zero', async () => {
      const instant = polling.clock.now();
      polling.clock = { ...polling.clock, now: () => instant };
      polling.directory = make(`${server.url}/users`);
      await ask(30);
      polling.users = DISABLED;
      expect(await ask(0)).to.equal('sponsor_disabled');
    });

    it('an answer for callers that accept its age', async () => {
      expect(await ask(30)).to.equal('active');
      polling.users = DISABLED;
      polling.clock.advance(29);
      expect(await ask(30)).to.equal('active');
      expect(await ask(28)).to.equal('sponsor_disabled');
      expect(userRequests()).to.have.length(2);
    });

    it('no answer for callers that accept only newer ones', async () => {
      await ask(30);
      polling.users = DISABLED;
      polling.clock.advance(30.1);
      expect(await ask(30)).to.equal('sponsor_disabled');
    });

    it('a refusal, for its own person only', async () => {
      polling.users = DISABLED;
      await ask(30);
      polling.users = answering({}, 404);
      expect(await ask(30, 'gone')).to.equal('sponsor_not_found');
      polling.users = ACTIVE;
      expect(await ask(30)).to.equal('sponsor_disabled');
      expect(await ask(30, 'gone')).to.equal('sponsor_not_found');
      expect(await ask(30, 'grace')).to.equal('active');
    });

    it('no answer that a newer answer contradicts', async () => {
      await ask(30);
      polling.users = DISABLED;
      expect(await ask(0)).to.equal('sponsor_disabled');
      expect(await ask(30)).to.equal('sponsor_disabled');
    });

    it('an answer that stays usable while the provider is down', async () => {
      await ask(30);
      polling.users = answering('', 500);
      for (let time = 0; time < 6; time += 1) expect(await ask()).to.equal(UNAVAILABLE);
      expect(await ask(30)).to.equal('active');
    });

    it('no failure of the provider', async () => {
      polling.users = answering('', 500);
      await ask(30);
      polling.users = ACTIVE;
      expect(await ask(30)).to.equal('active');
    });

    it('an answer with the time of its request, not of its arrival', async () => {
      polling.users = (request, response) => {
        polling.clock.advance(8);
        ACTIVE(request, response);
      };
      await ask(10);
      polling.users = DISABLED;
      polling.clock.advance(2.5);
      expect(await ask(10)).to.equal('sponsor_disabled');
    });
  });
});
