import { expect } from 'chai';
import { sqliteFile } from '../support/databases.ts';
import { answering, type Loopback, startLoopback } from '../support/loopback.ts';
import { type LedgerLine, type Mandate, startMandate, withService } from '../support/mandate.ts';

const malformed = (mandate: Mandate) => mandate.post('/oauth2/token', { grant_type: 'password' });

describe('A service with a sink', () => {
  let sink: Loopback;
  beforeEach(async () => {
    sink = await startLoopback(answering(''));
  });
  afterEach(() => sink.close());
  const received = () =>
    sink.received.flatMap(({ body }) => (JSON.parse(body) as { records: LedgerLine[] }).records) as LedgerLine[];
  const settings = () => ({ 'Service:Audit:Sink:Url': sink.url, 'Service:Audit:DrainInterval': 'PT1S' });

  it('finishes a running delivery when it stops, then records counted denials, and delivers the rest after a restart', async () => {
    await withService(startMandate({ database: sqliteFile }), async (kept) => {
      let answer = () => {};
      const asked = new Promise<void>((resolve) => {
        sink.answer = (_, response) => {
          answer = () => response.end();
          resolve();
        };
      });
      const mandate = await kept.another(settings());
      for (let time = 0; time < 3; time += 1) await malformed(mandate);
      await asked;

      let stopped = false;
      const stopping = mandate.stop().then(() => {
        stopped = true;
      });
      // A registration takes longer than a stop that does not wait for the delivery.
      await kept.agent();
      expect(stopped).to.equal(false);
      answer();
      await stopping;
      expect(mandate.log.lines.filter((line) => /"level":"error"/.test(line))).to.deep.equal([]);
      expect(received().map(({ reason }) => reason)).to.deep.equal(['unsupported_grant_type']);
      const lines = await kept.ledger();
      expect(lines.filter(({ event }) => event === 'token.denied').map(({ count }) => count)).to.deep.equal([
        undefined,
        2,
      ]);

      // The outbox stores undelivered records, and the next start delivers them.
      sink.received.length = 0;
      sink.answer = answering('');
      await withService(kept.another(settings()), async (next) => {
        await next.jobs.drain();
      });
      expect(received().map(({ seq }) => seq)).to.deep.equal(lines.slice(1).map(({ seq }) => seq));
    });
  });

  it('sends the sink’s bearer token over TLS, and never logs it', async () => {
    const secure = await startLoopback(answering(''), { tls: true });
    const token = 'a-secret-token-of-the-sink';
    const mandate = await startMandate({
      database: sqliteFile,
      settings: { 'Service:Audit:Sink:Url': secure.url, 'Service:Audit:Sink:BearerToken': token },
    });
    await mandate.agent();
    await mandate.jobs.drain();
    await mandate.stop();
    expect(secure.received.map(({ headers }) => headers.authorization)).to.deep.equal([`Bearer ${token}`]);
    expect(mandate.log.lines.join()).not.to.include(token);
    await secure.close();
  });

  it('warns at start about a secret that two settings share, and names the settings without the secret', async () => {
    const token = 'a-token-that-two-parties-were-given-0123456789';
    const mandate = await startMandate({
      database: sqliteFile,
      settings: {
        'Service:Audit:Sink:Url': 'https://127.0.0.1:9',
        'Service:Audit:Sink:BearerToken': token,
        'Service:Scim:BearerToken': token,
      },
    });
    await mandate.stop();
    const warnings = mandate.log.lines.filter((line) => line.includes('one secret is in several settings'));
    expect(warnings.map((line) => JSON.parse(line))).to.deep.equal([
      {
        level: 'warn',
        message: 'one secret is in several settings: its holder can use all of them',
        settings: 'Service:Scim:BearerToken, Service:Audit:Sink:BearerToken',
      },
    ]);
    expect(mandate.log.lines.join()).not.to.include(token);
  });

  it('warns at start about an audience that is also that of subject tokens', async () => {
    const warningsWith = (settings: Readonly<Record<string, string>>) =>
      withService(startMandate({ database: sqliteFile, settings }), async ({ log }) =>
        log.lines.flatMap((line) => (line.includes('an audience is the same') ? [JSON.parse(line)] : [])),
      );
    const LOGOUT = 'Service:UpstreamIdp:BackchannelLogout:Audience';
    const ssf = { 'Service:Ssf:Issuer': 'https://127.0.0.1:9', 'Service:Ssf:BearerToken': 'x'.repeat(32) };
    const all = {
      'Service:UpstreamIdp:Audience': 'portal',
      [LOGOUT]: 'portal',
      ...ssf,
      'Service:Ssf:Audience': 'portal',
    };
    expect((await warningsWith(all)).map(({ setting }) => setting)).to.deep.equal([LOGOUT, 'Service:Ssf:Audience']);
    expect(await warningsWith({ ...all, 'Service:UpstreamIdp:Audience': 'api' })).to.deep.equal([]);
    expect(await warningsWith({ 'Service:UpstreamIdp:Audience': 'portal' })).to.deep.equal([]);
  });

  it('starts while the database is locked, and turns queueing on later', async () => {
    const database = await sqliteFile.fresh();
    const other = await database.outside?.();
    if (other === undefined) throw new Error('the database can not be reached from outside');
    await other.sql('begin immediate');
    const kept = { ...sqliteFile, fresh: async () => database };
    await withService(startMandate({ database: kept, settings: settings() }), async (mandate) => {
      expect(mandate.log.lines.join()).to.include('could not store yet');
      await other.sql('rollback');
      while ((await other.sql('select queueing from outbox_queueing'))[0]?.queueing !== 1) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      await other.close();
      await mandate.agent();
      await mandate.jobs.drain();
      // The recurring job may be delivering the record already. The stop waits for it.
    });
    expect(received().map(({ event }) => event)).to.deep.equal(['agent.registered']);
  });
});

describe('A service that starts', () => {
  it('asks for the keys of the identity provider while it waits for the database', async () => {
    const database = await sqliteFile.fresh();
    const other = await database.outside?.();
    if (other === undefined) throw new Error('the database can not be reached from outside');
    await other.sql('begin immediate');
    const provider = await startLoopback((request, response) => {
      void other.sql('rollback');
      answering('', 503)(request, response);
    });
    const kept = { ...sqliteFile, fresh: async () => database };
    const settings = { 'Service:UpstreamIdp:Issuer': provider.url };
    await withService(startMandate({ database: kept, settings }), async ({ log }) => {
      // The database was locked until the first request to the provider.
      expect(log.lines.join()).not.to.include('could not store yet');
    });
    await other.close();
    await provider.close();
  });
});
