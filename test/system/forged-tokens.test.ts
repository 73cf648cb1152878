/**
 * Task tokens that the service did not make, signed with its key: introspection, approvals and revocation compare each with the
 * stored task (docs/threat-model.md).
 */

import { expect } from 'chai';
import { decodeJwt } from 'jose';
import { ulid } from 'ulid';
import type { JsonObject } from '../../domain/tokens/strict-json.ts';
import { freePort } from '../../scripts/free-port.ts';
import { databasesByLength } from '../support/databases.ts';
import { forgedClaims } from '../support/forged-claims.ts';
import {
  fieldsOf,
  JIRA,
  type Mandate,
  type RegisteredAgent,
  startMandate,
  WIKI,
  withService,
} from '../support/mandate.ts';
import { scrape } from '../support/metrics-scrape.ts';
import { signingKeySettings } from '../support/shared-signing-key.ts';
import { makeSigningKey, type SigningKey } from '../support/signing-key.ts';
import { type AskingServer, approvalSettings, askingServer, asks } from '../support/tool-server/approval-request.ts';

for (const database of databasesByLength) {
  describe(`A token forged with the signing key on ${database.name}`, () => {
    let mandate: Mandate;
    let agent: RegisteredAgent;
    let key: SigningKey;
    let jira: AskingServer;
    let port: number;
    const clock = { issuer: () => mandate.issuer, now: () => mandate.clock.seconds() };
    before(async () => {
      [key, jira, port] = await Promise.all([makeSigningKey('ES256'), askingServer(JIRA, clock), freePort()]);
      mandate = await startMandate({
        database,
        settings: {
          'Service:Me:ClientId': 'the-page',
          'Service:Metrics:Port': String(port),
          'Service:StatusLists:Enabled': 'true',
          ...approvalSettings(jira),
          ...signingKeySettings(key.privateKey),
        },
      });
      mandate.clock.standStill();
      agent = await mandate.agent();
    });
    after(() => mandate.stop());

    const signed = (claims: object) => key.sign({ alg: 'ES256', typ: 'at+jwt', kid: key.kid }, claims);
    /** Of a new task, with a fresh jti: only the changed claim shows that the service did not make it. */
    const claimsOfTask = async (): Promise<JsonObject> => {
      const { access_token: token } = (await agent.exchange()).body;
      const claims = { ...decodeJwt(String(token)), jti: `tok_${ulid()}` } as JsonObject;
      expect(await mandate.introspect(signed(claims)), 'the unchanged claims').to.include({ active: true });
      return claims;
    };
    const mismatches = async (surface: string) =>
      (await scrape(port)).value('mandate_token_mismatches_total', { surface });

    it('is inactive with any claim changed, and counted, and leaves no record', async () => {
      const claims = await claimsOfTask();
      const forged = forgedClaims(claims).flatMap(([claim, forms]) => forms.map((form) => [claim, form] as const));
      const before = (await mismatches('introspection')) ?? -1;
      const lines = await mandate.recorded(async () => {
        for (const [claim, form] of forged) {
          const what = `${claim}: ${JSON.stringify(form[claim])}`;
          expect(await mandate.introspect(signed(form)), what).to.deep.equal({ active: false });
        }
      });
      expect(lines).to.deep.equal([]);
      // Tokens without a usable date are malformed, and not compared.
      const unusable = forged.filter(
        ([claim, form]) => ['exp', 'iat'].includes(claim) && !Number.isInteger(form[claim]),
      );
      const withoutIat = 1;
      const counted = forged.length - unusable.length + withoutIat;
      expect(((await mismatches('introspection')) ?? 0) - before).to.equal(counted);
    });

    it('gets no approval, and no record names its person', async () => {
      const claims = await claimsOfTask();
      const { id } = claims.task as { id: string };
      const before = (await mismatches('approval')) ?? -1;
      const forms = ['sub', 'aud', 'client_id', 'scope', 'act', 'task', 'exp'].flatMap((claim) => {
        const named = forgedClaims(claims).find(([name]) => name === claim);
        return (named?.[1] ?? []).slice(0, 2).map((form) => [claim, form] as const);
      });
      const lines = await mandate.recorded(async () => {
        for (const [claim, form] of forms) {
          expect((await asks(mandate, signed(form), jira.request(id))).body, claim).to.deep.equal({
            state: 'inactive',
          });
        }
        // A request that is refused for another reason leaves no name of a forged token in the record either.
        const late = jira.request(id, { iat: clock.now() - 900, exp: clock.now() - 600 });
        expect((await asks(mandate, signed({ ...claims, sub: 'ceo' }), late)).body).to.deep.equal({
          state: 'inactive',
        });
      });
      expect(lines).to.deep.equal([]);
      expect(((await mismatches('approval')) ?? 0) - before).to.equal(forms.length + 1);
      expect((await asks(mandate, signed(claims), jira.request(id))).body.state).to.equal('pending');
    });

    it('is not revoked: the record names only the agent that asked', async () => {
      const claims = await claimsOfTask();
      const before = (await mismatches('revocation')) ?? -1;
      const forms = [
        { ...claims, sub: 'ceo' },
        { ...claims, scope: `${claims.scope} payments:write` },
        { ...claims, aud: WIKI },
        { ...claims, exp: Number(claims.exp) + 86_400 },
        { ...claims, task: { ...(claims.task as object), sponsor: 'ceo' } },
      ];
      const lines = await mandate.recorded(async () => {
        for (const form of forms) {
          const answer = await agent.revoke(signed(form));
          expect([answer.status, answer.text]).to.deep.equal([200, '']);
        }
      });
      const denied = ['token.denied', 'deny', 'revocation_not_owner', agent.id, null, null, null, null];
      const fields = ['event', 'decision', 'reason', 'agent_id', 'sponsor', 'task_id', 'scope', 'jti'];
      expect(fieldsOf(lines, ...fields)).to.deep.equal(forms.map(() => denied));
      expect(((await mismatches('revocation')) ?? 0) - before).to.equal(forms.length);
      expect(await mandate.introspect(signed(claims)), 'the jti is not revoked').to.include({ active: true });
    });
  });

  describe(`A token of the service on ${database.name}`, () => {
    it('stays active whatever changes after it was issued', async () => {
      const key = await makeSigningKey('ES256');
      const next = await makeSigningKey('ES256');
      const settings = { 'Service:UpstreamIdp:SponsorKeyClaim': 'oid', ...signingKeySettings(key.privateKey) };
      await withService(startMandate({ database, settings }), async (mandate) => {
        const agent = await mandate.agent({ allowed_scopes: ['jira:read', 'jira:comment', 'jira:write'] });
        const change = async (changes: object) => {
          const answer = await mandate.admin('PATCH', `/admin/agents/${agent.id}`, changes);
          expect(answer.status, answer.text).to.equal(200);
        };
        const person = { sub: 'ada é 😀', oid: 'object-7', sid: 'session-3', scope: 'jira:read jira:comment' };
        const actor_token = agent.assertion({ instance: 'pod-1' });
        const issued = await agent.exchangeFor(person, { actor_token, scope: 'jira:comment jira:read' });
        const grant = String(issued.body.refresh_token);
        const tokens = [issued];
        await change({ high_risk_audiences: [JIRA], max_token_ttl: 'PT1M', display_name: 'Another' });
        tokens.push(await agent.refresh(grant), await agent.refresh(grant, { scope: 'jira:read' }));
        await change({ high_risk_audiences: [], max_token_ttl: 'PT5M', allowed_scopes: ['jira:read'] });
        tokens.push(await agent.refresh(grant, { client_assertion: agent.assertion({ instance: ' é ' }) }));
        await change({ allowed_audiences: [WIKI] });
        const rotated = {
          ...settings,
          'Service:Signing:Keys:1:Pem': next.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
          'Service:Signing:ActiveKid': next.kid,
          'Service:UpstreamIdp:SponsorKeyClaim': 'sub',
          'Service:Agents:MaxTokenTtl': 'PT1M',
          'Service:Tokens:DefaultTokenTtl': 'PT1M',
        };
        for (const token of tokens) {
          expect(token.status, token.text).to.equal(200);
          expect(await mandate.introspect(token)).to.include({ active: true });
        }
        await withService(mandate.another(rotated), async (other) => {
          for (const token of tokens) expect(await other.introspect(token)).to.include({ active: true });
        });
        await change({ allowed_audiences: [JIRA] });
        await withService(mandate.another({ ...settings, 'Service:StatusLists:Enabled': 'true' }), async (other) => {
          for (const token of tokens) expect(await other.introspect(token)).to.include({ active: true });
          const withStatus = await other.post(
            '/oauth2/token',
            agent.exchangeForm({ subject_token: agent.subjectToken(person), scope: 'jira:read' }),
          );
          expect(decodeJwt(String(withStatus.body.access_token))).to.have.property('status');
          expect(await other.introspect(withStatus)).to.include({ active: true });
          expect(await mandate.introspect(withStatus), 'status lists are off here').to.include({ active: true });
        });
      });
    });
  });
}
