/** The access tokens and reasons of operators that the service refuses. */

import { expect } from 'chai';
import type { Mandate } from '../../support/mandate.ts';
import { OPERATORS_AUDIENCE, operatorToken, ROLE_VALUES } from '../../support/operators.ts';
import { rawConnection } from '../../support/raw-http.ts';
import type { ServiceWithOperators } from './service.ts';
import { type Claims, operator, type Sent, sendAs } from './service.ts';

export function testTokens(service: ServiceWithOperators): void {
  const unusable: readonly (readonly [string, Sent])[] = [
    ['is missing', { reason: undefined }],
    ['has 201 UTF-16 code units', { reason: encodeURIComponent(`${'😀'.repeat(100)}x`) }],
    ['is not percent-encoded', { reason: '100 % sure' }],
    ['has a control character', { reason: 'line%0Abreak' }],
  ];

  for (const [what, sent] of unusable) {
    it(`refuse a change whose reason ${what}, name the header, and change and record nothing`, async () => {
      const { mandate } = service;
      const records = await mandate.recorded(async () => {
        const answer = await operator(mandate, 'olga', 'responder')('PUT /admin/sponsors/frank/block', sent);
        expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).to.deep.equal([
          400,
          'application/problem+json',
        ]);
        expect(Object.keys(answer.body.errors as object)).to.deep.equal(['Mandate-Reason']);
      });
      expect(records).to.deep.equal([]);
      expect(mandate.log.lines.join('\n')).to.include('reason_required');
    });
  }

  it('refuse a change with two reasons', async () => {
    const { mandate } = service;
    const token = operatorToken(mandate, { roles: [ROLE_VALUES.responder] });
    const records = await mandate.recorded(async () => {
      const connection = await rawConnection(mandate.url);
      connection.send(
        `PUT /admin/sponsors/frank/block HTTP/1.1\r\nHost: mandate.test\r\nAuthorization: Bearer ${token}\r\n` +
          'Mandate-Reason: one reason\r\nMandate-Reason: another\r\nConnection: close\r\n\r\n',
      );
      expect(await connection.until('Must not be repeated.')).to.match(/^HTTP\/1\.1 400 /);
      connection.leave();
    });
    expect(records).to.deep.equal([]);
  });

  const refused: readonly (readonly [string, Claims | ((mandate: Mandate) => Claims)])[] = [
    ['for another audience', { aud: 'https://mandate.example/other' }],
    ['that agents may hold as well', ({ provider }) => ({ aud: [OPERATORS_AUDIENCE, provider.audience] })],
    ['of another issuer', { iss: 'https://elsewhere.example' }],
    ['that an application got for itself', { sub: 'pipeline', client_id: 'pipeline' }],
  ];

  for (const [what, claims] of refused) {
    it(`refuse a token ${what} with 401, although it names every role`, async () => {
      const { mandate } = service;
      const roles = Object.values(ROLE_VALUES);
      const token = operatorToken(mandate, { roles, ...(typeof claims === 'function' ? claims(mandate) : claims) });
      await mandate.jobs.closeWindows();
      mandate.clock.advance(120);
      const records = await mandate.recorded(async () => {
        const answer = await sendAs(mandate, token, 'GET /admin/agents');
        expect([answer.status, answer.headers.get('www-authenticate')]).to.deep.equal([401, 'Bearer']);
        expect(answer.text).not.to.include(token.slice(-16));
      });
      expect(records.map(({ event, decision, reason, sponsor }) => [event, decision, reason, sponsor])).to.deep.equal([
        ['admin.denied', 'deny', 'invalid_api_key', null],
      ]);
    });
  }

  it('refuse a token whose signature does not verify', async () => {
    const { mandate } = service;
    const token = operatorToken(mandate, { roles: Object.values(ROLE_VALUES) });
    const forged = `${token.slice(0, -8)}${token.slice(-8) === 'AAAAAAAA' ? 'BBBBBBBB' : 'AAAAAAAA'}`;
    expect((await sendAs(mandate, forged, 'GET /admin/agents')).status).to.equal(401);
  });

  it('never make an operator a sponsor because of the token', async () => {
    const { mandate } = service;
    const agent = await mandate.agent();
    const answer = await agent.exchange({
      subject_token: operatorToken(mandate, { roles: Object.values(ROLE_VALUES) }),
    });
    expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
    const last = (await mandate.ledger()).at(-1);
    expect(last).to.include({ event: 'token.denied', reason: 'subject_audience_mismatch' });
  });
}
