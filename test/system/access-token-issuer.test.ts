/**
 * A provider whose metadata has an `access_token_issuer`, as that of AD FS: access tokens have another `iss` than ID tokens
 * and logout tokens.
 */

import { expect } from 'chai';
import { databases } from '../support/databases.ts';
import { type IdentityProvider, startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { fieldsOf, type Mandate, type RegisteredAgent, startMandate, withService } from '../support/mandate.ts';
import { OPERATORS, operatorToken } from '../support/operators.ts';
import { PUSH_HEADERS, startTransmitter, type Transmitter } from '../support/transmitter.ts';

const ME = 'https://mandate.test/me';
const TRUST = 'http://adfs.example/adfs/services/trust';
const SESSION_REVOKED = 'https://schemas.openid.net/secevent/caep/event-type/session-revoked';
const DOCUMENT = '/.well-known/openid-configuration';

// The database has no part in it.
for (const database of databases.slice(0, 1)) {
  for (const by of ['Issuer', 'MetadataUrl'] as const) {
    describe(`A provider with an access_token_issuer, configured by ${by}`, () => {
      let adfs: Loopback;
      let provider: IdentityProvider;
      let mandate: Mandate;
      let agent: RegisteredAgent;
      let transmitter: Transmitter;
      before(async () => {
        provider = await startIdentityProvider();
        transmitter = await startTransmitter(() => mandate.clock.seconds());
        adfs = await startLoopback((request, response) => {
          const document = { issuer: adfs.url, access_token_issuer: TRUST, jwks_uri: `${provider.issuer}/jwks` };
          answering(request.path === DOCUMENT ? document : {})(request, response);
        });
        mandate = await startMandate({
          database,
          provider,
          settings: {
            'Service:UpstreamIdp:Issuer': '',
            [`Service:UpstreamIdp:${by}`]: by === 'Issuer' ? adfs.url : `${adfs.url}${DOCUMENT}`,
            'Service:UpstreamIdp:BackchannelLogout:Audience': provider.clientId,
            'Service:Me:Audience': ME,
            'Service:UpstreamIdp:MayAct': 'honour',
            'Service:Audit:Aggregation:Enabled': 'false',
            ...OPERATORS,
            ...transmitter.settings,
          },
        });
        agent = await mandate.agent();
      });
      after(async () => {
        await mandate.stop();
        await transmitter.stop();
        await adfs.close();
        await provider.stop();
      });

      const brief = async (act: () => Promise<unknown>) =>
        fieldsOf(await mandate.recorded(act), 'event', 'decision', 'reason', 'sponsor');

      it('needs it as the iss of subject tokens and of tokens at /me: those with the issuer are refused, and recorded', async () => {
        const mine = (iss: string) =>
          mandate.get('/me/tasks', { authorization: `Bearer ${agent.subjectToken({ aud: ME, iss })}` });
        expect((await agent.exchangeFor({ iss: TRUST })).status).to.equal(200);
        expect((await mine(TRUST)).status).to.equal(200);
        const refused = await brief(async () => {
          const answer = await agent.exchangeFor({ iss: adfs.url });
          expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
          expect((await mine(adfs.url)).status).to.equal(401);
        });
        expect(refused).to.deep.equal([
          ['token.denied', 'deny', 'subject_untrusted_issuer', null],
          ['me.denied', 'deny', 'invalid_token', null],
        ]);
      });

      it('accepts both issuers as that of may_act, and no other', async () => {
        const naming = (iss: string) => agent.exchangeFor({ iss: TRUST, may_act: { sub: agent.id, iss } });
        for (const iss of [TRUST, adfs.url]) expect((await naming(iss)).status).to.equal(200);
        const refused = await brief(async () => {
          expect((await naming(provider.issuer)).body.reason).to.equal('actor_not_named');
        });
        expect(refused).to.deep.equal([['token.denied', 'deny', 'actor_not_named', 'ada']]);
      });

      it('does not use it as the iss of logout tokens', async () => {
        const issued = await agent.exchangeFor({ iss: TRUST });
        const iat = mandate.clock.seconds();
        const send = (iss: string) =>
          mandate.post('/backchannel-logout', {
            logout_token: provider.signLogoutToken({ iss, sub: 'ada', iat, exp: iat + 120 }),
          });
        const refused = await brief(async () => expect((await send(TRUST)).status).to.equal(400));
        expect(refused).to.deep.equal([['signal.denied', 'deny', 'logout_untrusted_issuer', null]]);
        expect((await mandate.introspect(issued)).active).to.equal(true);
        expect((await send(adfs.url)).status).to.equal(200);
        expect((await mandate.introspect(issued)).active).to.equal(false);
      });

      it('names people in security events, as the issuer does: both find the tasks that began with a token of this iss', async () => {
        const send = (iss: string) => {
          const sub_id = { format: 'iss_sub', iss, sub: 'ada' };
          const body = transmitter.sign({ sub_id, events: { [SESSION_REVOKED]: {} } });
          return mandate.send('/events', { method: 'POST', headers: PUSH_HEADERS, body });
        };
        for (const iss of [TRUST, adfs.url]) {
          const issued = await agent.exchangeFor({ iss: TRUST });
          const lines = await brief(async () => expect((await send(iss)).status).to.equal(202));
          expect(lines).to.deep.equal([
            ['sponsor.signal', 'allow', 'ssf_sessions_revoked', 'ada'],
            ['task.revoked', 'allow', 'ssf_sessions_revoked', 'ada'],
          ]);
          expect((await mandate.introspect(issued)).active).to.equal(false);
        }
        const refused = await brief(async () => expect((await send(`${TRUST}/`)).status).to.equal(400));
        expect(refused).to.deep.equal([['signal.denied', 'deny', 'ssf_no_usable_subject', null]]);
      });

      it('needs it as the iss of operators’ tokens; the ledger names operators by the issuer, as at the console', async () => {
        const ask = (iss: string) =>
          mandate.get('/admin/agents', { authorization: `Bearer ${operatorToken(mandate, { iss })}` });
        const lines = await mandate.recorded(async () => {
          expect((await ask(TRUST)).status).to.equal(403);
          expect((await ask(adfs.url)).status).to.equal(401);
        });
        expect(lines.map(({ reason }) => reason)).to.deep.equal(['operator_role_missing', 'invalid_api_key']);
        expect(new URLSearchParams(String(lines[0]?.detail)).get('iss')).to.equal(adfs.url);
      });
    });
  }
  it('A template for the issuers of several tenants is named in the log once at the start, and refuses every subject token', async () => {
    const provider = await startIdentityProvider();
    const template = `${provider.issuer}/{tenantid}`;
    const tenants = await startLoopback(answering({ issuer: template, jwks_uri: `${provider.issuer}/jwks` }));
    const settings = {
      'Service:UpstreamIdp:Issuer': '',
      'Service:UpstreamIdp:MetadataUrl': `${tenants.url}/common/.well-known/openid-configuration`,
    };
    await withService(startMandate({ database, provider, settings }), async (mandate) => {
      await mandate.untilReady();
      const agent = await mandate.agent();
      const lines = await mandate.recorded(async () => {
        expect((await agent.exchange()).body.error).to.equal('invalid_grant');
      });
      expect(fieldsOf(lines, 'event', 'decision', 'reason')).to.deep.equal([
        ['token.denied', 'deny', 'subject_untrusted_issuer'],
      ]);
      const named = mandate.log.lines.filter((line) => line.includes('names an issuer that no token can have'));
      expect(named).to.have.length(1);
    });
    await tenants.close();
    await provider.stop();
  });
}
