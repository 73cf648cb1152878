/**
 * The person's answer at `/oauth2/authorize` beside what ends the request, and beside a second browser: over HTTP, at two
 * replicas. `test/contract/requests.test.ts` has these races of the decisions.
 */

import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { keptRequest } from '../../support/authorize/allowed-request.ts';
import { sendAnswer, titleOf, toldClient } from '../../support/authorize/door.ts';
import { databases } from '../../support/databases.ts';
import { byLength } from '../../support/length.ts';
import { type Answer, fieldsOf, type Mandate, type RegisteredAgent } from '../../support/mandate.ts';
import { patch, scimClient, scimSettings, USER_SCHEMA } from '../../support/scim-client.ts';
import { PUSH_HEADERS, startTransmitter, type Transmitter } from '../../support/transmitter.ts';
import { publicAgent, startDoor, token } from '../../system/authorize/clients.ts';

const ROUNDS = byLength({ short: 4, full: 200 });

const EVENTS = 'https://schemas.openid.net/secevent';

interface Asked {
  readonly sub: string;
  readonly sessionId: string;
}

/** Prepares what ends the request. Its result sends it to a replica. */
type Ending = (of: Asked) => Promise<(at: Mandate) => Promise<Answer>>;

for (const database of databases) {
  describe(`The answer to a request at two replicas on ${database.name}`, function () {
    this.timeout(60_000 + ROUNDS * 2_000);
    let transmitter: Transmitter;
    let mandate: Mandate;
    let other: Mandate;
    let editor: RegisteredAgent;
    before(async () => {
      transmitter = await startTransmitter();
      const settings = {
        ...scimSettings,
        ...transmitter.settings,
        'Service:UpstreamIdp:BackchannelLogout:Audience': 'people-desk',
      };
      mandate = await startDoor(database, { settings });
      other = await mandate.another({});
      editor = await publicAgent(mandate);
    });
    after(async () => {
      await other.stop();
      await mandate.stop();
      await transmitter.stop();
    });

    const cookieOf = (secret: string) => `__Host-mandate-authorize-AAAAAAAA=1700000000.${secret}`;
    const newSecret = () => randomBytes(32).toString('base64url');

    /** A person with a browser on the page of a request. */
    async function onPage() {
      const secret = newSecret();
      const of = { sub: `person-${randomUUID()}`, sessionId: randomUUID() };
      const browserHash = createHash('sha256').update(secret).digest('hex');
      const { authorization, verifier } = await keptRequest(mandate, editor.id, { ...of, browserHash });
      const path = `/oauth2/authorize/${authorization.requestId}`;
      const page = await mandate.get(path, { cookie: cookieOf(secret), accept: 'text/html' });
      expect(page.status, titleOf(page)).to.equal(200);
      const { requestId, redirectUri: redirect_uri } = authorization;
      const redeem = (code: string) =>
        token(mandate, {
          grant_type: 'authorization_code',
          code,
          code_verifier: verifier,
          redirect_uri,
          client_id: editor.id,
        });
      const allow = (at: Mandate, cookies = cookieOf(secret)) => sendAnswer(at, { path, page, cookies }, 'allow');
      const state = async () => (await mandate.storage.authorizations.find(requestId))?.state;
      return { of, requestId, allow, redeem, state };
    }

    const codeIn = (answer: Answer) => (answer.status === 303 ? toldClient(answer).code : undefined);

    const pushed = (name: string): Ending => {
      return async ({ sub }) => {
        const body = transmitter.event(`${EVENTS}/${name}`, sub);
        return (at) => at.send('/events', { method: 'POST', headers: PUSH_HEADERS, body });
      };
    };
    const logout = (whom: (of: Asked) => Record<string, string>): Ending => {
      return async (of) => {
        const now = mandate.clock.seconds();
        const logout_token = mandate.provider.signLogoutToken({
          ...whom(of),
          aud: 'people-desk',
          iat: now,
          exp: now + 60,
        });
        return (at) => at.post('/backchannel-logout', { logout_token });
      };
    };
    const ENDINGS: Readonly<Record<string, Ending>> = {
      'a SCIM deactivation': async ({ sub }) => {
        const user = { schemas: [USER_SCHEMA], userName: randomUUID(), externalId: sub, active: true };
        const id = await scimClient(mandate).create(user);
        return (at) => scimClient(at).send('PATCH', `/Users/${id}`, patch({ active: false }));
      },
      'a security event of a disabled account': pushed('risc/event-type/account-disabled'),
      'a security event of revoked sessions': pushed('caep/event-type/session-revoked'),
      'a logout of the session': logout(({ sessionId: sid, sub }) => ({ sid, sub })),
      'a logout of the person': logout(({ sub }) => ({ sub })),
      "a person's block":
        async ({ sub }) =>
        (at) =>
          at.admin('PUT', `/admin/sponsors/${sub}/block`),
    };

    for (const [what, prepare] of Object.entries(ENDINGS)) {
      it(`starts no task beside ${what}: its code is void, or Allow says why`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const { of, allow, redeem, state } = await onPage();
          const end = await prepare(of);
          const [at, elsewhere] = round % 2 === 0 ? [mandate, other] : [other, mandate];
          // The first two rounds are one after the other: each order has its outcome.
          let ended = round === 1 ? end(elsewhere) : undefined;
          await ended;
          if (round % 4 === 3) ended = end(elsewhere);
          const allowing = allow(at);
          if (round === 0) await allowing;
          const [answer, done] = await Promise.all([allowing, ended ?? end(elsewhere)]);
          expect(done.status, done.text).to.be.oneOf([200, 202, 204]);
          const code = codeIn(answer);
          if (round < 2) expect(code === undefined, titleOf(answer)).to.equal(round === 1);
          if (code === undefined) expect(answer.status, titleOf(answer)).to.be.oneOf([400, 403]);
          else {
            const redeemed = await redeem(code);
            expect([redeemed.status, redeemed.body.error], redeemed.text).to.deep.equal([400, 'invalid_grant']);
          }
          expect(await state()).to.equal('void');
        }
      });
    }

    it('is given once by two tabs, and never in another browser, even with a stolen form', async () => {
      const records = await mandate.recorded(async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const { allow, redeem, state } = await onPage();
          const answers = await Promise.all([allow(mandate), allow(other), allow(other, cookieOf(newSecret()))]);
          const codes = answers.map(codeIn);
          expect(codes[2]).to.equal(undefined);
          expect(
            answers
              .map(titleOf)
              .filter((title) => title !== undefined)
              .toSorted(),
          ).to.deep.equal(['This question is over', 'You have already allowed this']);
          expect(await state()).to.equal('allowed');
          const given = codes.filter((code) => code !== undefined);
          expect(given).to.have.length(1);
          expect((await redeem(given[0] ?? '')).status).to.equal(200);
        }
      });
      const ofAnswers = records.filter(({ event }) => String(event).startsWith('authorization.'));
      const each = Array.from({ length: ROUNDS });
      expect(fieldsOf(ofAnswers, 'event', 'reason', 'agent_id').toSorted()).to.deep.equal([
        ...each.map(() => ['authorization.allowed', null, editor.id]),
        ...each.map(() => ['authorization.denied', 'request_expired', null]),
      ]);
    });
  });
}
