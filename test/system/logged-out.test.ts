/** Subject tokens from before a logout, with `Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut` on and off. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../scripts/free-port.ts';
import { databasesByLength } from '../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import {
  type Answer,
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  withService,
} from '../support/mandate.ts';

const PATH = '/backchannel-logout';
const SETTING = 'Service:UpstreamIdp:BackchannelLogout:RefuseLoggedOut';

type Claims = Readonly<Record<string, unknown>>;

for (const database of databasesByLength) {
  describe(`RefuseLoggedOut on ${database.name}`, function () {
    this.timeout(60_000);
    let provider: IdentityProvider;
    let mandate: Mandate;
    /** A second replica with the same settings. */
    let replica: Mandate;
    let agent: RegisteredAgent;
    before(async () => {
      const port = await freePort();
      provider = await startIdentityProvider({ backchannelLogoutUri: `http://127.0.0.1:${port}${PATH}` });
      mandate = await startMandate({
        database,
        provider,
        settings: {
          PORT: String(port),
          'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
          [SETTING]: 'true',
        },
      });
      replica = await mandate.another({});
      agent = await mandate.agent();
    });
    after(async () => {
      await replica.stop();
      await mandate.stop();
      await provider.stop();
    });

    const now = () => mandate.clock.seconds();
    const newPerson = () => `ada-${randomUUID()}`;
    const logoutToken = (claims: Claims) => provider.signLogoutToken({ iat: now(), exp: now() + 120, ...claims });
    async function logOut(claims: Claims, at: Mandate = mandate): Promise<void> {
      const answer = await at.post(PATH, { logout_token: logoutToken(claims) });
      expect(answer.status, answer.text).to.equal(200);
    }
    const tokenOf = (claims: Claims) => provider.mintAccessToken({ iat: now() - 60, exp: now() + 3600, ...claims });
    const exchange = (claims: Claims, at: Mandate = mandate): Promise<Answer> =>
      at.post('/oauth2/token', agent.exchangeForm({ subject_token: tokenOf(claims) }));
    async function expectOpened(claims: Claims, at: Mandate = mandate): Promise<Claims> {
      const answer = await exchange(claims, at);
      expect(answer.status, answer.text).to.equal(200);
      return answer.body;
    }
    async function expectRefused(claims: Claims, at: Mandate = mandate): Promise<void> {
      const lines = await mandate.recorded(async () => {
        const answer = await exchange(claims, at);
        expect(answer.status, answer.text).to.equal(400);
        expect(answer.body).to.deep.equal({
          error: 'invalid_grant',
          error_description: 'The session or the person of the subject token has logged out.',
        });
      });
      expect(lines).to.have.length(1);
      expect(lines[0]).to.include({
        event: 'token.denied',
        decision: 'deny',
        reason: 'subject_logged_out',
        agent_id: agent.id,
        sponsor: claims.sub,
        audience: JIRA,
        scope: 'jira:read jira:comment',
        task_id: null,
        jti: null,
      });
    }

    it('refuses a subject token of a session that a real provider has ended, and accepts one of another session', async () => {
      const [laptop, phone] = [await provider.signIn('ada'), await provider.signIn('ada')];
      await laptop.signOut();
      expect(provider.logoutDeliveries()).to.deep.include({ sid: laptop.sid, delivered: true });
      const refused = await agent.exchange({ subject_token: laptop.accessToken, scope: 'jira:read' });
      expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_grant']);
      expect((await mandate.ledger()).at(-1)).to.include({ reason: 'subject_logged_out', sponsor: 'ada' });
      const other = await agent.exchange({ subject_token: phone.accessToken, scope: 'jira:read' });
      expect(other.status, other.text).to.equal(200);
      await phone.signOut();
    });

    it('with EndTasksWithoutSession also refuses the tokens without sid after a logout of the person and a session', async () => {
      const settings = { 'Service:UpstreamIdp:BackchannelLogout:EndTasksWithoutSession': 'true' };
      await withService(mandate.another(settings), async (ending) => {
        const [sub, sid, iat] = [newPerson(), randomUUID(), now() - 30];
        await logOut({ sub, sid, iat }, ending);
        for (const at of [ending, mandate]) {
          for (const before of [iat - 1, iat, undefined]) await expectRefused({ sub, sid: undefined, iat: before }, at);
          await expectRefused({ sub, sid: null, iat }, at);
          await expectOpened({ sub, sid: undefined, iat: iat + 1 }, at);
          await expectOpened({ sub, sid: randomUUID(), iat }, at);
        }
      });
    });

    it('compares the sub even if the sponsor key is in another claim', async () => {
      await withService(mandate.another({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' }), async (keyed) => {
        const [sub, oid] = [newPerson(), newPerson()];
        await logOut({ sub }, keyed);
        await expectRefused({ sub, oid }, keyed);
        await expectOpened({ sub: newPerson(), oid }, keyed);
        await expectOpened({ sub: oid, oid: sub }, keyed);
      });
    });

    it('applies on every replica, including one that starts later', async () => {
      const [sub, sid] = [newPerson(), randomUUID()];
      await logOut({ sub }, replica);
      await logOut({ sid }, mandate);
      await withService(mandate.another({}), async (later) => {
        for (const one of [mandate, replica, later]) {
          await expectRefused({ sub }, one);
          await expectRefused({ sub: newPerson(), sid }, one);
        }
      });
    });

    it('refuses nothing while it is off, and ignores logouts of that time once it is on', async () => {
      await withService(mandate.another({ [SETTING]: '' }), async (off) => {
        const [sub, sid] = [newPerson(), randomUUID()];
        const lines = await mandate.recorded(async () => {
          await logOut({ sub }, off);
          await logOut({ sid }, off);
        });
        expect(fieldsOf(lines, 'event', 'reason')).to.deep.equal([
          ['sponsor.signal', 'sponsor_logged_out'],
          ['sponsor.signal', 'sponsor_logged_out'],
        ]);
        for (const one of [off, mandate]) {
          await expectOpened({ sub }, one);
          await expectOpened({ sub: newPerson(), sid }, one);
        }
        await logOut({ sub: `${sub}-on` }, mandate);
        await expectOpened({ sub: `${sub}-on` }, off);
      });
    });
  });
}
