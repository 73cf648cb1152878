/** `GET /healthz` and `GET /readyz`. */

import { expect } from 'chai';
import { databasesByLength } from '../support/databases.ts';
import { startIdentityProvider } from '../support/identity-provider/identity-provider.ts';
import { type Mandate, sharedMandate, withService } from '../support/mandate.ts';
import { rawConnection } from '../support/raw-http.ts';

for (const database of databasesByLength) {
  describe(`Health checks on ${database.name}`, () => {
    let mandate: Mandate;
    before(async () => {
      mandate = await sharedMandate(database);
    });

    it('/healthz answers Healthy', async () => {
      const answer = await mandate.get('/healthz');
      expect(answer.status).to.equal(200);
      expect(answer.headers.get('content-type')).to.match(/^text\/plain/);
      expect(answer.text).to.equal('Healthy');
    });

    it("/readyz answers 200 if the database, the signing key and the provider's keys are available", async () => {
      expect((await (await mandate.agent()).exchange()).status).to.equal(200);
      const answer = await mandate.untilReady({ accept: 'application/json' });
      expect(answer.status, answer.text).to.equal(200);
      expect(answer.body.status).to.equal('Healthy');
      expect(answer.body.checks).to.have.all.keys(
        'database',
        'clock',
        'signing_key',
        'sealing',
        'identity_provider_keys',
      );
      expect((await mandate.untilReady()).text).to.equal('Healthy');
    });

    it("/readyz answers 503 until the service has the provider's keys, then 200 without a restart", async () => {
      const provider = await startIdentityProvider();
      await provider.goDown();
      await withService(mandate.another({}, provider), async (early) => {
        const answer = await early.get('/readyz', { accept: 'application/json' });
        expect(answer.status).to.equal(503);
        expect(answer.body.status).to.equal('Unhealthy');
        expect((await early.get('/healthz')).status).to.equal(200);
        await provider.comeBack();
        // This exchange makes the service fetch the keys.
        early.clock.advance(30);
        expect((await (await early.agent()).exchange()).status).to.equal(200);
        expect((await early.untilReady()).text).to.equal('Healthy');
      });
      await provider.stop();
    });

    it('/readyz answers 200 and Degraded fifteen minutes after the last successful fetch of keys', async () => {
      const provider = await startIdentityProvider();
      await withService(mandate.another({}, provider), async (other) => {
        expect((await (await other.agent()).exchange()).status).to.equal(200);
        expect((await other.untilReady()).text).to.equal('Healthy');
        await provider.goDown();
        other.clock.advance(15 * 60 + 1);
        const answer = await other.untilReady();
        expect(answer.status).to.equal(200);
        expect(answer.text).to.equal('Degraded');
      });
      await provider.stop();
    });

    it('/readyz answers 503 while a stop refuses all requests and finishes running ones; /healthz answers 200', async () => {
      const stopping = await mandate.another({});
      await stopping.untilReady();
      const running = await rawConnection(stopping.url);
      running.send(
        'POST /oauth2/introspect HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
          'Content-Length: 7\r\nExpect: 100-continue\r\n\r\n',
      );
      await running.until('100 Continue');
      const lines = await mandate.recorded(async () => {
        const stopped = stopping.stop();
        const refused = await stopping.get('/.well-known/jwks.json');
        expect([refused.status, refused.headers.get('retry-after')]).to.deep.equal([503, '1']);
        const answer = await stopping.get('/readyz', { accept: 'application/json' });
        expect([answer.status, answer.headers.get('connection')]).to.deep.equal([503, 'close']);
        expect(answer.body).to.deep.equal({
          status: 'Unhealthy',
          checks: { server: { status: 'Unhealthy', detail: 'The service is stopping.' } },
        });
        expect((await stopping.get('/healthz')).status).to.equal(200);
        running.send('token=x');
        expect(await running.until('{"active":false}')).to.include('200 OK');
        await stopped;
      });
      expect(lines.map(({ event, reason }) => [event, reason])).to.deep.equal([['token.denied', 'overloaded']]);
    });
  });
}
