import { expect } from 'chai';
import { polledSponsors } from '../../../adapters/identity-provider/polled-sponsors.ts';
import { fixedToken } from '../../../adapters/identity-provider/service-token.ts';
import { httpNetwork } from '../../../adapters/platform/http-network.ts';
import { Secret } from '../../../domain/secret.ts';
import { capturedLog } from '../../support/captured-log.ts';
import {
  ACTIVE,
  ADA,
  DISABLED,
  pollingForEachTest,
  UNAVAILABLE,
} from '../../support/identity-provider/polled-directory.ts';
import { answering, type Handler, STATUSES_WITHOUT_DOCUMENT } from '../../support/loopback.ts';

describe('The sponsor check by poll', () => {
  const polling = pollingForEachTest();
  const { server, make, userRequests, ask } = polling;

  it('requests the users URL with the sub and the service token', async () => {
    expect(await ask()).to.equal('active');
    const [request] = userRequests();
    expect(request).to.include({ method: 'GET', path: `/admin/realms/people/users/${ADA}` });
    expect(request?.headers.authorization).to.equal('Bearer token-1');
  });

  it('accepts a users URL with a slash at its end', async () => {
    polling.directory = make(`${server.url}/users/`);
    expect(await ask()).to.equal('active');
    expect(userRequests()[0]?.path).to.equal(`/users/${ADA}`);
  });

  it('returns whether a person is active, disabled or unknown', async () => {
    polling.users = DISABLED;
    expect(await ask()).to.equal('sponsor_disabled');
    polling.users = answering({ error: 'User not found' }, 404);
    expect(await ask()).to.equal('sponsor_not_found');
    polling.users = ACTIVE;
    expect(await ask()).to.equal('active');
    expect(polling.log.lines).to.deep.equal([]);
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
        polling.users = answering(body, 404);
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
        polling.users = answer;
        expect(await ask(30)).to.equal(UNAVAILABLE);
        polling.users = ACTIVE;
        expect(await ask(30)).to.equal('active');
        polling.users = answer;
        for (const person of [ADA, ADA, ADA, ADA, 'grace']) expect(await ask(0, person)).to.equal(UNAVAILABLE);
        const asked = server.received.length;
        expect(await ask()).to.equal(UNAVAILABLE);
        expect(server.received, 'the circuit is open').to.have.length(asked);
        expect(polling.log.lines.join()).not.to.contain(ADA).and.not.to.contain('token-1');
      });
    }
  });

  for (const status of STATUSES_WITHOUT_DOCUMENT) {
    it(`does not accept an answer with the status ${status}, even with an enabled person`, async () => {
      polling.users = answering({ id: ADA, username: 'ada', enabled: true }, status);
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
      polling.users = answering({ id, enabled: true });
      expect(await ask()).to.equal('active');
      polling.users = answering({ id, enabled: false });
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
        // Failures about one person alone do not open the circuit.
        for (const subject of [ADA, ADA, ADA, 'grace', ADA, ADA]) {
          polling.users = answer;
          expect(await ask(30, subject)).to.equal(UNAVAILABLE);
        }
        polling.users = ACTIVE;
        expect(await ask(30)).to.equal('active');
        expect(polling.log.lines).to.have.length(6);
        expect(polling.log.lines.join()).not.to.contain(ADA).and.not.to.contain('token-1');
      });
    }
  });

  it("logs the provider's error, unless it repeats the person or the token", async () => {
    for (const [error, shown] of [
      ['unknown_error', ', and its error is "unknown_error"'],
      [`no ${ADA}`, ''],
      ['bad token-1', ''],
    ] as const) {
      polling.log = capturedLog();
      polling.directory = make(`${server.url}/users`);
      polling.issued = 0;
      polling.users = answering({ error }, 403);
      await ask();
      expect(polling.log.lines.join()).to.contain(JSON.stringify(`The answer's status was 403${shown}.`).slice(1, -1));
      expect(polling.log.lines.join()).not.to.contain(ADA).and.not.to.contain('token-1');
    }
  });

  it("logs no provider's error that repeats the person as the address names them", async () => {
    const [sub, inAddress] = ['zoë@x.org', 'zo%C3%AB%40x.org'];
    polling.users = answering({ error: `no user ${inAddress}` }, 403);
    expect(await polling.directory.status(sub, 0)).to.equal(UNAVAILABLE);
    expect(userRequests().at(-1)?.path).to.include(inAddress);
    expect(polling.log.lines.join()).to.contain("The answer's status was 403.").and.not.to.contain('x.org');
  });

  it('asks with a configured token, and once only if that is refused', async () => {
    const secret = 'b'.repeat(32);
    polling.directory = polledSponsors(`${server.url}/users`, {
      network: httpNetwork(),
      clock: polling.clock,
      log: polling.log,
      tokens: fixedToken(new Secret(secret)),
    });
    expect(await ask()).to.equal('active');
    polling.users = answering({ error: `expired: ${secret}` }, 401);
    expect(await ask()).to.equal(UNAVAILABLE);
    expect(server.received.map(({ path, headers }) => [path, headers.authorization])).to.deep.equal(
      Array(2).fill([`/users/${ADA}`, `Bearer ${secret}`]),
    );
    expect(polling.log.lines.join()).not.to.contain('bbbbbbbb');
  });
});
