import { expect } from 'chai';
import { polledSponsors } from '../../../adapters/identity-provider/polled-sponsors.ts';
import type { ServiceTokens } from '../../../adapters/identity-provider/service-token.ts';
import { serviceTokens } from '../../../adapters/identity-provider/service-token.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import type { SponsorDirectory } from '../../../application/ports/identity-provider.ts';
import { type CapturedLog, capturedLog } from '../../support/captured-log.ts';
import { answering, type Handler, type Loopback, STATUSES_BESIDE_200, startLoopback } from '../../support/loopback.ts';
import { type MovedClock, movedClock } from '../../support/moved-clock.ts';

const ADA = '5f1c8d0e-ada';
/** Answers about the person who was asked about, as Keycloak does. */
const person =
  (enabled: boolean): Handler =>
  (request, response) => {
    const id = decodeURIComponent(request.path.split('/').at(-1) ?? '');
    answering({ id, username: 'ada', enabled })(request, response);
  };
const ACTIVE = person(true);
const DISABLED = person(false);
const UNAVAILABLE = 'sponsor_status_unavailable';

describe('asking the identity provider about a person', () => {
  let server: Loopback;
  let clock: MovedClock;
  let log: CapturedLog;
  let directory: SponsorDirectory;
  /** How the token endpoint and the users endpoint answer. */
  let token: Handler;
  let users: Handler;
  let issued: number;
  before(async () => {
    server = await startLoopback((request, response) =>
      request.path === '/token' ? token(request, response) : users(request, response),
    );
  });
  beforeEach(() => {
    issued = 0;
    token = (request, response) => {
      issued += 1;
      answering({ access_token: `token-${issued}`, token_type: 'Bearer', expires_in: 86_400 })(request, response);
    };
    users = ACTIVE;
    server.received.length = 0;
    clock = movedClock();
    clock.standStill();
    log = capturedLog();
    directory = make(`${server.url}/admin/realms/people/users`);
  });
  after(() => server.close());

  function make(usersUrl: string): SponsorDirectory {
    // With connections of its own: a GET over a kept one that is cut is sent a second time.
    const network = httpNetwork();
    const tokens: ServiceTokens = serviceTokens(
      { tokenUrl: `${server.url}/token`, clientId: 'mandate-service' },
      {
        network,
        clock,
        metadata: { current: async () => ({ issuer: server.url, jwksUri: `${server.url}/keys` }) },
        assertion: async () => 'an.assertion.here',
      },
    );
    return polledSponsors(usersUrl, { network, clock, log, tokens });
  }
  const questions = () => server.received.filter((request) => request.path !== '/token');
  const ask = (maxAge = 0, subject = ADA) => directory.status(subject, maxAge);

  it('asks at the users URL by sub, with the service token', async () => {
    expect(await ask()).to.equal('active');
    const [question] = questions();
    expect(question).to.include({ method: 'GET', path: `/admin/realms/people/users/${ADA}` });
    expect(question?.headers.authorization).to.equal('Bearer token-1');
  });

  it('does not mind a slash at the end of the users URL', async () => {
    directory = make(`${server.url}/users/`);
    expect(await ask()).to.equal('active');
    expect(questions()[0]?.path).to.equal(`/users/${ADA}`);
  });

  it('tells the enabled, the disabled and the unknown apart', async () => {
    users = DISABLED;
    expect(await ask()).to.equal('sponsor_disabled');
    users = answering({ error: 'User not found' }, 404);
    expect(await ask()).to.equal('sponsor_not_found');
    users = ACTIVE;
    expect(await ask()).to.equal('active');
    expect(log.lines).to.deep.equal([]);
  });

  for (const status of STATUSES_BESIDE_200) {
    it(`never takes an answer with the status ${status} for a yes, whatever it says`, async () => {
      users = answering({ id: ADA, username: 'ada', enabled: true }, status);
      expect(await ask()).to.equal(status === 404 ? 'sponsor_not_found' : UNAVAILABLE);
    });
  }

  describe('keeps a sub from meaning anything but a person:', () => {
    for (const sub of ['.', '..', '', 'a\ud800']) {
      it(`nobody is called ${JSON.stringify(sub)}, and nothing is asked`, async () => {
        expect(await ask(0, sub)).to.equal('sponsor_not_found');
        expect(server.received).to.have.length(0);
      });
    }

    for (const sub of [
      '...',
      'a?b=c',
      'a#b',
      'a%2Fb',
      '%2e%2e',
      'a/b',
      'a/../b',
      '../users/5f1c',
      '..%2Fb',
      '/',
      '/'.repeat(256),
      'a\\b',
      '..\\x',
      '%',
      '%zz',
      'a b',
      'auth0|5f1c',
      'ünï',
      'a;b',
      'a&b',
      "o'hara",
      '👋',
      '*',
    ]) {
      it(`${JSON.stringify(sub)} arrives as it is`, async () => {
        expect(await ask(0, sub)).to.equal('active');
        const path = questions()[0]?.path ?? '';
        expect(path.startsWith('/admin/realms/people/users/')).to.equal(true);
        expect(decodeURIComponent(path.slice('/admin/realms/people/users/'.length))).to.equal(sub);
        expect(path).not.to.match(/[?#]/);
      });
    }
  });

  it('compares an id only where it is a string, and takes an answer without one', async () => {
    for (const id of [undefined, null, 42, true, [ADA], { id: 'another' }]) {
      users = answering({ id, enabled: true });
      expect(await ask()).to.equal('active');
      users = answering({ id, enabled: false });
      expect(await ask()).to.equal('sponsor_disabled');
    }
  });

  describe('refuses one person for an answer about them that is useless, and goes on asking about others:', () => {
    for (const [title, answer] of [
      ['400', answering({}, 400)],
      ['403, the service not being allowed to see people', answering({ error: 'unknown_error' }, 403)],
      ['a redirect', (_, response) => response.writeHead(302, { location: '/users/other' }).end()],
      ['204', (_, response) => response.writeHead(204).end()],
      ['no JSON', answering('<html>')],
      ['a list', answering([{ enabled: true }])],
      ['no enabled', answering({ id: ADA })],
      ['an enabled that is text', answering({ id: ADA, enabled: 'true' })],
      ['an enabled that is null', answering({ id: ADA, enabled: null })],
      ['the id of another person', answering({ id: 'another', enabled: true })],
      ['the id of another person, who is disabled', answering({ id: 'another', enabled: false })],
      ['an empty id', answering({ id: '', enabled: true })],
      ['the same id in another case', answering({ id: ADA.toUpperCase(), enabled: true })],
      ['enabled twice', answering('{"enabled":true,"enabled":false}')],
      ['an enabled of the prototype', answering('{"__proto__":{"enabled":true}}')],
      ['more than 256 KiB', answering({ enabled: true, padding: 'x'.repeat(262_144) })],
      [
        'something that is not UTF-8',
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

  describe('leaves a provider that is down alone for five seconds after five failures in a row:', () => {
    for (const [title, down] of [
      [
        '500',
        () => {
          users = answering('', 500);
        },
      ],
      [
        '503',
        () => {
          users = answering('', 503);
        },
      ],
      [
        '429',
        () => {
          users = answering('', 429);
        },
      ],
      [
        'no connection',
        () => {
          users = (_, response) => response.destroy();
        },
      ],
      [
        'no service token, for an error',
        () => {
          token = answering('', 500);
        },
      ],
      [
        'no service token, for a refusal',
        () => {
          token = answering({ error: 'invalid_client' }, 401);
        },
      ],
      [
        'no service token, for no connection',
        () => {
          token = (_, response) => response.destroy();
        },
      ],
    ] satisfies [string, () => void][]) {
      it(title, async () => {
        down();
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

  it('lets one question through after that, which the others do not wait for, and asks on when it is answered', async () => {
    users = answering('', 500);
    for (let time = 0; time < 5; time += 1) await ask();
    users = ACTIVE;
    clock.advance(5);
    expect(await Promise.all([ask(), ask(), ask()])).to.deep.equal(['active', UNAVAILABLE, UNAVAILABLE]);
    expect(await Promise.all([ask(), ask()])).to.deep.equal(['active', 'active']);
  });

  it('counts one failed attempt at a service token once, however many waited for it', async () => {
    token = answering('', 500);
    await Promise.all(Array.from({ length: 20 }, () => ask()));
    token = answering({ access_token: 'a', token_type: 'Bearer' });
    expect(await ask()).to.equal('active');
  });

  it('takes a provider that does not answer in ten seconds for one that is down', async () => {
    // The time is up before the question goes out: the ten seconds are for the token and the question together.
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
    expect(questions()).to.have.length(0);
  });

  describe('when its token is refused', () => {
    const refusing =
      (refused: readonly string[]): Handler =>
      (request, response) => {
        const is401 = refused.includes(String(request.headers.authorization));
        if (is401) answering({ error: 'HTTP 401 Unauthorized' }, 401)(request, response);
        else ACTIVE(request, response);
      };

    it('gets another and asks once more', async () => {
      await ask();
      users = refusing(['Bearer token-1']);
      expect(await ask()).to.equal('active');
      expect(await ask()).to.equal('active');
      expect(issued).to.equal(2);
    });

    it('does not go on asking, and does not take the provider for down', async () => {
      users = answering({}, 401);
      for (let time = 0; time < 6; time += 1) {
        server.received.length = 0;
        expect(await ask()).to.equal(UNAVAILABLE);
        expect(questions()).to.have.length(2);
      }
    });
  });

  describe('remembers', () => {
    it('nothing of a question that is about now', async () => {
      expect(await ask(0)).to.equal('active');
      users = DISABLED;
      expect(await ask(30)).to.equal('sponsor_disabled');
      expect(questions()).to.have.length(2);
    });

    it('nothing for a question about now, not even an answer of the same instant', async () => {
      const instant = clock.now();
      clock = { ...clock, now: () => instant };
      directory = make(`${server.url}/users`);
      await ask(30);
      users = DISABLED;
      expect(await ask(0)).to.equal('sponsor_disabled');
    });

    it('the answer to any other, for those who take one so old', async () => {
      expect(await ask(30)).to.equal('active');
      users = DISABLED;
      clock.advance(29);
      expect(await ask(30)).to.equal('active');
      expect(await ask(28)).to.equal('sponsor_disabled');
      expect(questions()).to.have.length(2);
    });

    it('no answer that is older than asked for', async () => {
      await ask(30);
      users = DISABLED;
      clock.advance(30.1);
      expect(await ask(30)).to.equal('sponsor_disabled');
    });

    it('refusals too, and each for its own person', async () => {
      users = DISABLED;
      await ask(30);
      users = answering({}, 404);
      expect(await ask(30, 'gone')).to.equal('sponsor_not_found');
      users = ACTIVE;
      expect(await ask(30)).to.equal('sponsor_disabled');
      expect(await ask(30, 'gone')).to.equal('sponsor_not_found');
      expect(await ask(30, 'grace')).to.equal('active');
    });

    it('an answer no longer when a question about now was answered otherwise', async () => {
      await ask(30);
      users = DISABLED;
      expect(await ask(0)).to.equal('sponsor_disabled');
      expect(await ask(30)).to.equal('sponsor_disabled');
    });

    it('and says so also while the provider is down', async () => {
      await ask(30);
      users = answering('', 500);
      for (let time = 0; time < 6; time += 1) expect(await ask()).to.equal(UNAVAILABLE);
      expect(await ask(30)).to.equal('active');
    });

    it('never that the provider did not say', async () => {
      users = answering('', 500);
      await ask(30);
      users = ACTIVE;
      expect(await ask(30)).to.equal('active');
    });

    it('an answer by the time of its question, not of its arrival', async () => {
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
