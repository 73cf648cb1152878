/** The keys of people in the queries of the sponsor check. */

import { expect } from 'chai';
import { sendBytes } from '../../support/hostile/send-bytes.ts';
import { answering, type Handler } from '../../support/loopback.ts';
import { ADMIN_KEY, withService } from '../../support/mandate.ts';
import type { Checked } from './checked.ts';
import { ACTIVE } from './checked.ts';

/** Decodes one segment of the path once, as Keycloak does. */
const decoding: Handler = (request, response) => {
  const id = decodeURIComponent(request.path.slice('/users/'.length));
  answering({ ...ACTIVE, id })(request, response);
};

const PATH_LIKE_KEYS = ['a/b', 'a\\b', 'a%b', 'a/../b', '..%2Fb', '%2e%2e', '../users/b', '/'.repeat(256)];

export function testSponsorKeys(checked: Checked): void {
  const { questions } = checked;

  it('queries by sub if the sponsor key is in another claim', async () => {
    const { mandate } = checked;
    await withService(mandate.another({ 'Service:UpstreamIdp:SponsorKeyClaim': 'oid' }), async (other) => {
      checked.users = decoding;
      const acting = await other.agent();
      const subject_token = mandate.provider.mintAccessToken({ sub: 'a b/c', oid: 'key-1' });
      expect((await acting.exchange({ subject_token })).status).to.equal(200);
      expect(questions().map(({ path }) => path)).to.deep.equal(['/users/a%20b%2Fc']);
    });
  });

  it('refuses one dot and two dots as sponsor keys, at an exchange and in the admin API', async () => {
    const { mandate, agent } = checked;
    for (const sub of ['.', '..']) {
      const lines = await mandate.recorded(async () => {
        const answer = await agent.exchangeFor({ sub });
        expect([answer.status, answer.body.error]).to.deep.equal([400, 'invalid_grant']);
      });
      expect(lines).to.have.lengthOf(1);
      expect(lines[0]).to.include({ reason: 'sponsor_key_missing', agent_id: agent.id, sponsor: sub });
      for (const written of [sub, sub.replaceAll('.', '%2e'), sub.replaceAll('.', '%2E')]) {
        for (const [method, path] of [
          ['GET', `/admin/sponsors/${written}`],
          ['PUT', `/admin/sponsors/${written}/block`],
          ['DELETE', `/admin/sponsors/${written}/block`],
          ['DELETE', `/admin/sponsors/${written}/tasks`],
        ] as const) {
          const { answers } = await sendBytes(
            mandate.url,
            `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n\r\n`,
          );
          expect(answers[0]?.status, `${method} ${path}`).to.equal(400);
          expect(answers[0]?.headers.get('content-type')).to.match(/^application\/problem\+json/);
        }
      }
    }
    expect(questions()).to.have.lengthOf(0);
  });

  it('accepts every other sponsor key, percent-encoded, in the path of a block', async () => {
    const { mandate, agent } = checked;
    checked.users = decoding;
    for (const sub of PATH_LIKE_KEYS) {
      const path = `/admin/sponsors/${encodeURIComponent(sub)}`;
      expect((await mandate.admin('DELETE', `${path}/tasks`)).status).to.equal(200);
      expect((await agent.exchangeFor({ sub })).status).to.equal(200);
      const blocked = await mandate.admin('PUT', `${path}/block`);
      expect([blocked.status, blocked.body.revoked_tasks], sub).to.deep.equal([200, 1]);
      expect((await mandate.admin('GET', path)).body).to.include({ sponsor_key: sub, source: 'admin' });
      const refused = await agent.exchangeFor({ sub });
      expect(refused.body).to.include({ error: 'access_denied', reason: 'sponsor_disabled' });
      expect((await mandate.admin('DELETE', `${path}/block`)).status).to.equal(204);
    }
  });
}
