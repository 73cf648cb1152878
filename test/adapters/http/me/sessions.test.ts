/** Writes with a session of the page: they need its form token and its origin. No other session's cookie opens them. */

import { createServer } from 'node:http';
import { expect } from 'chai';
import express from 'express';
import { meRouter } from '../../../../adapters/http/me/me-router.ts';
import type { MeSurface } from '../../../../adapters/http/me/surface.ts';
import { anonymousDenials } from '../../../../application/ledger/anonymous-denials.ts';
import { myTasks } from '../../../../application/me/my-tasks.ts';
import { findPause, mayResume, pauseAgents, resumeAgents } from '../../../../application/me/pause.ts';
import { stopMyTasks } from '../../../../application/me/stop-my-tasks.ts';
import { denied } from '../../../../application/outcome.ts';
import type { SponsorKey } from '../../../../domain/identifiers.ts';
import { plusSeconds } from '../../../../domain/instant.ts';
import type { MePerson } from '../../../../domain/sponsors/me-person.ts';
import { ledgerOf } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { closeServer, listen } from '../../../support/listening.ts';
import { sendTo } from '../../../support/mandate.ts';
import { agreeing, movedClock } from '../../../support/moved-clock.ts';
import { openTestDatabase, type TestDatabase } from '../../../support/test-database.ts';

const ISSUER = 'https://mandate.example/tenant';
const COOKIE = 'the-session-of-ada';
const FORM_TOKEN = 'the-form-token-of-ada';

describe('A session at /me', () => {
  const clock = movedClock();
  const log = capturedLog();
  const server = createServer();
  let storage: TestDatabase;
  let url: string;
  let ada: MePerson;
  before(async () => {
    clock.standStill();
    storage = await openTestDatabase();
    const anonymous = anonymousDenials({ decisions: storage, clock, log }, undefined);
    const service = {
      log,
      decisions: storage,
      tasks: storage.tasks,
      sponsors: storage.sponsors,
      clock,
      sharedTime: agreeing(clock),
      archivedPart: async () => undefined,
    };
    ada = {
      subject: 'ada',
      sponsorKey: 'ada' as SponsorKey,
      sessionId: 'a-session',
      authenticatedAt: clock.now(),
      by: 'session',
    };
    const surface: MeSurface = {
      issuer: ISSUER,
      validate: async () => denied('subject_audience_mismatch'),
      sessions: { find: async (cookies) => (cookies === COOKIE ? { holder: ada, formToken: FORM_TOKEN } : undefined) },
      refuse: async (reason) => anonymous.record({ event: 'me.denied', reason }),
      tasks: (person, question) => myTasks(service, person, question),
      presentsPurposes: false,
      presentsAuthorizations: false,
      stop: (person, selection) => stopMyTasks(service, person, selection),
      canPause: true,
      pauseOf: (person) => findPause(service, person),
      pause: (person) => pauseAgents(service, person),
      mayResume: (person) => mayResume(service, person),
      resume: (person) => resumeAgents(service, person),
      records: async () => ({ kind: 'foreign_cursor' }),
      prove: async () => ({ kind: 'not_found' }),
      approvals: undefined,
      delegation: undefined,
      log,
    };
    server.on('request', express().use('/me', meRouter(surface)));
    url = `http://127.0.0.1:${await listen(server)}`;
  });
  after(async () => {
    await closeServer(server);
    await storage.close();
  });

  const send = (method: string, path: string, headers: Readonly<Record<string, string>>) =>
    sendTo(`${url}${path}`, { method, headers });
  const OWN_PAGE = { cookie: COOKIE, 'sec-fetch-site': 'same-origin', 'mandate-form-token': FORM_TOKEN };

  it('reads without a form token, from any site', async () => {
    expect((await send('GET', '/me/tasks', { cookie: COOKIE, 'sec-fetch-site': 'cross-site' })).status).to.equal(200);
  });

  it('writes with the form token if fetch metadata or origin show the page of the service', async () => {
    const { 'sec-fetch-site': _, ...older } = OWN_PAGE;
    for (const headers of [OWN_PAGE, { ...older, origin: 'https://mandate.example' }]) {
      expect((await send('PUT', '/me/pause', headers)).status).to.equal(200);
      expect((await send('DELETE', '/me/pause', headers)).status).to.equal(204);
      expect((await send('DELETE', '/me/tasks', headers)).body).to.deep.equal({ revoked_tasks: 0 });
    }
  });

  const { 'sec-fetch-site': _site, ...withoutSite } = OWN_PAGE;
  const { 'mandate-form-token': _token, ...withoutToken } = OWN_PAGE;
  const foreign: Readonly<Record<string, Readonly<Record<string, string>>>> = {
    'without a form token': withoutToken,
    'with another form token': { ...OWN_PAGE, 'mandate-form-token': FORM_TOKEN.toUpperCase() },
    'with a longer form token': { ...OWN_PAGE, 'mandate-form-token': `${FORM_TOKEN}x` },
    'from another site': { ...OWN_PAGE, 'sec-fetch-site': 'cross-site' },
    'from another origin of the same site': { ...OWN_PAGE, 'sec-fetch-site': 'same-site' },
    'from another site that claims our origin': {
      ...OWN_PAGE,
      'sec-fetch-site': 'none',
      origin: 'https://mandate.example',
    },
    'from another origin, without fetch metadata': { ...withoutSite, origin: 'https://mandate.example.evil' },
    'from an opaque origin, without fetch metadata': { ...withoutSite, origin: 'null' },
    'without an origin and without fetch metadata': withoutSite,
  };
  for (const [what, headers] of Object.entries(foreign)) {
    it(`does not write ${what}: 403, recorded without a name, and nothing changes`, async () => {
      for (const [method, path] of [
        ['PUT', '/me/pause'],
        ['DELETE', '/me/pause'],
        ['DELETE', '/me/tasks'],
        ['DELETE', '/me/agents/a/tasks'],
      ] as const) {
        const before = (await ledgerOf(storage)).length;
        const answer = await send(method, path, headers);
        expect([answer.status, answer.body.error], `${method} ${path}`).to.deep.equal([403, 'invalid_form_token']);
        const added = (await ledgerOf(storage)).slice(before);
        expect(added.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor])).to.deep.equal([
          ['me.denied', 'deny', 'invalid_form_token', undefined],
        ]);
      }
      expect((await findPause({ sponsors: storage.sponsors }, ada)).own).to.equal(undefined);
    });
  }

  it('is not read beside an Authorization header, which decides alone', async () => {
    const answer = await send('GET', '/me/tasks', { ...OWN_PAGE, authorization: 'Bearer x' });
    expect([answer.status, answer.body.error]).to.deep.equal([401, 'invalid_token']);
  });

  it('resumes only within 300 seconds of the sign-in', async () => {
    await send('PUT', '/me/pause', OWN_PAGE);
    clock.advance(301);
    const refused = await send('DELETE', '/me/pause', OWN_PAGE);
    expect([refused.status, refused.body.error]).to.deep.equal([401, 'insufficient_user_authentication']);
    const last = (await ledgerOf(storage)).at(-1);
    expect(last).to.include({ event: 'me.denied', decision: 'deny', reason: 'sign_in_too_old', sponsor: 'ada' });
    clock.advance(-1);
    expect((await send('DELETE', '/me/pause', OWN_PAGE)).status).to.equal(204);
  });

  it('and a token resume up to the second: a token with the clock skew on both sides', async () => {
    const pausing = { decisions: storage, clock, sharedTime: agreeing(clock) };
    const at = clock.now();
    for (const [by, age, verdict] of [
      ['session', 300, 'lifted'],
      ['session', 301, 'sign_in_too_old'],
      ['token', 360, 'lifted'],
      ['token', 361, 'sign_in_too_old'],
      ['token', -60, 'lifted'],
      ['token', -61, 'sign_in_too_old'],
    ] as const) {
      const person = { ...ada, by, authenticatedAt: plusSeconds(at, -age) };
      await pauseAgents(pausing, ada);
      // The page offers the form by the rule that judges it.
      expect(await mayResume(pausing, person), `${by} ${age}`).to.equal(verdict === 'lifted');
      expect(await resumeAgents(pausing, person), `${by} ${age}`).to.equal(verdict);
    }
  });
});
