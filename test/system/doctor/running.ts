/** What `mandate doctor` finds at the address of the running service. */

import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { connectOutside } from '../../support/databases.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import { startTampering } from '../../support/ledger/tampering.ts';
import { startLoopback } from '../../support/loopback.ts';
import { startMandate, withService } from '../../support/mandate.ts';
import { logKeySettings } from '../../support/transparency-log.ts';
import type { Examined } from './examined.ts';

export function testRunningService(examined: Examined, kind: TestDatabase): void {
  const { examine, complaints, expectOnly, withoutDatabase } = examined;

  it('says how full the status lists are, and that the public address has a current one', async () => {
    const { mandate, clock } = examined;
    const port = await freePort();
    const lists = { 'Service:StatusLists:Enabled': 'true', 'Service:StatusLists:Entries': '1024' };
    const own = { ...lists, 'Service:Issuer': `http://127.0.0.1:${port}` };
    await withService(mandate.another({ ...own, PORT: String(port) }), async (instance) => {
      const ofLists = async () => (await examine(own)).filter(({ check }) => check.includes('status lists'));
      expect((await ofLists()).map(({ sentence }) => sentence)).to.deep.equal([
        'There is no status list yet: the first task of an audience opens one.',
        'Service:Issuer answers that there is no status list yet.',
      ]);
      const agent = await instance.agent();
      for (let task = 0; task < 2; task += 1) expect((await agent.exchange()).status).to.equal(200);
      // The service has told for `Ttl` that there is none.
      instance.clock.advance(5);
      const [stored, published] = await ofLists();
      expect([stored?.status, stored?.sentence.replace(/opened .+?\. /, '')]).to.deep.equal([
        'ok',
        'Tasks hold 2 of 1024 indices; lists: 1, the oldest The fullest: 2 of 1024 for https://jira.example.',
      ]);
      expect([published?.status, published?.sentence]).to.deep.equal([
        ...['ok', 'Service:Issuer answers with a current status list.'],
      ]);
      clock.advance(3610);
      expect((await ofLists())[1]?.sentence).to.match(
        /a status list that is 1 hour( \d+ (minutes?|seconds?))* old; 5 seconds are allowed/,
      );
    });
  });

  it('says how many checkpoints the log has, and finds one that halted, that is behind, or that has another name', async () => {
    const { provider } = examined;
    const fresh = await kind.fresh();
    const key = { ...logKeySettings(), 'Service:Audit:Log:Origin': 'mandate.example/ledger' };
    const own = { ...kind, fresh: async () => fresh };
    await withService(startMandate({ database: own, provider, settings: key }), async (instance) => {
      const ofLog = async (changes = {}) => {
        const found = (await examine({ ...fresh.settings, ...key, ...changes })).find(
          ({ check }) => check === 'transparency log',
        );
        return `${found?.status}: ${found?.sentence}`;
      };
      const add = async () => {
        await instance.block(`person-${randomUUID()}`, 'disabled');
        await instance.jobs.seal();
      };
      await add();
      await instance.jobs.growLog();
      expect(await ofLog()).to.match(/^ok: The log has (\d+) of \1 checkpoints\.$/);
      for (let nth = 0; nth < 4; nth += 1) await add();
      expect(await ofLog()).to.match(/^warning: The log has \d+ of \d+ checkpoints\.$/);
      await instance.jobs.growLog();
      await instance.sql('update log_state set published_size = 0');
      expect(await ofLog()).to.match(
        /^failed: Readers do not get the newest note, of \d+ leaves: the database names a published note of 0\.$/,
      );
      expect(await ofLog({ 'Service:Audit:Log:Origin': 'other.example' })).to.match(
        /^failed: The stored log is .*other\.example/,
      );
      await instance.sql("update log_state set halted = 'A reason.'");
      expect(await ofLog()).to.equal('failed: The log signs no further tree. A reason.');
      instance.clock.advance(1);
      await instance.jobs.growLog();
      await instance.jobs.growLog();
      expect(instance.log.lines.filter((line) => line.includes('does not grow'))).to.have.length(1);
      const { status, body } = await instance.untilReady({ accept: 'application/json' });
      expect([status, body.status]).to.deep.equal([200, 'Degraded']);
      expect(Object(body.checks).log.detail).to.equal('The log signs no further tree. A reason.');
    });
  });

  it('warns if the public address answers no status lists', async () => {
    const found = await withoutDatabase.complaints({ 'Service:StatusLists:Enabled': 'true' });
    await expectOnly(found, ['published status lists', 'warning', /^Service:Issuer could not be .*status was 404\.$/]);
  });

  it('fails if Service:Issuer is plain http on a network, outside a development host', async () => {
    const ofSettings = async (changes: Readonly<Record<string, string>>) =>
      (await withoutDatabase.complaints(changes)).filter(({ check }) => check === 'settings');
    // Nothing listens at this address.
    const onNetwork = { 'Service:Issuer': 'http://192.0.2.1:9' };
    await expectOnly(await ofSettings(onNetwork), [
      'settings',
      'failed',
      /^Service:Issuer is plain http: on the network others can read tokens and grants, and replace the published keys\.$/,
    ]);
    for (const accepted of [
      { ...onNetwork, NODE_ENV: 'development' },
      { 'Service:Issuer': 'http://127.0.0.1:9' },
      { 'Service:Issuer': 'https://192.0.2.1:9' },
    ]) {
      expect(await ofSettings(accepted)).to.deep.equal([]);
    }
  });

  it('warns if nothing answers at Service:Issuer, or a service with another issuer', async () => {
    const { mandate } = examined;
    await withoutDatabase.expectFinding(
      { 'Service:Issuer': 'http://127.0.0.1:9' },
      'own address',
      'warning',
      /ECONNREFUSED/,
    );
    const other = mandate.issuer.replace('127.0.0.1', 'localhost');
    await withoutDatabase.expectFinding({ 'Service:Issuer': other }, 'own address', 'warning', /another issuer/);
  });

  it('reports every check of /readyz that is not Healthy, by its name and detail', async () => {
    const checks = {
      database: { status: 'Healthy', detail: 'The database answers.' },
      new_check: { status: 'Degraded', detail: `Forged\u202e\u001b[2J line\n${'x'.repeat(5000)}` },
    };
    let body: unknown = { status: 'Degraded', checks };
    let code = 200;
    const service = await startLoopback(({ path, headers }, response) => {
      const isAsked = path === '/readyz' && headers.accept === 'application/json';
      response.writeHead(isAsked ? code : 404, { 'content-type': 'application/json' });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    });
    const ofReadiness = async () =>
      (await withoutDatabase.examine({ 'Service:Issuer': service.url })).find(({ check }) => check === 'readiness');
    const unknown = await ofReadiness();
    expect(unknown?.status).to.equal('warning');
    expect(unknown?.sentence).to.match(
      /^new_check is Degraded: Forged\\u\{202e\}\\u\{1b\}\[2J line\\u\{a\}x{900,1000}…\.$/,
    );
    body = {
      status: 'Degraded',
      checks: { ...checks, sealing: { status: 'Degraded', detail: 'Nothing is sealed.' } },
    };
    const sealing = await ofReadiness();
    expect([sealing?.status, sealing?.sentence.includes('sealing is Degraded: Nothing is sealed.')]).to.deep.equal([
      ...['failed', true],
    ]);
    expect(sealing?.remedy).to.include('a restart forgets');
    code = 503;
    body = { status: 'Unhealthy', checks: { database_file: { status: 'Unhealthy', detail: 'It was replaced' } } };
    expect(await ofReadiness()).to.include({
      status: 'failed',
      sentence: 'database_file is Unhealthy: It was replaced.',
    });
    for (const other of ['Healthy', '{"checks": []}', '{"checks": {"a": {"status": "Fine", "detail": ""}}}', 'null']) {
      body = other;
      expect((await ofReadiness())?.status, other).to.equal('skipped');
    }
    code = 404;
    expect((await ofReadiness())?.status).to.equal('skipped');
    await service.close();
    expect((await ofReadiness())?.status).to.equal('skipped');
  });

  it('fails with what the running service says about checkpoints that were replaced or removed', async () => {
    const { provider, good } = examined;
    const fresh = await kind.fresh();
    const key = { 'Service:Signing:Keys:0:Path': good['Service:Signing:Keys:0:Path'] ?? '' };
    const own = { ...kind, fresh: async () => fresh };
    await withService(
      startMandate({ database: own, provider, issuer: 'own-address', settings: key }),
      async (instance) => {
        await instance.block('ada', 'disabled');
        await instance.jobs.seal();
        const changes = { ...fresh.settings, 'Service:Issuer': instance.issuer };
        expect(await complaints(changes)).to.deep.equal([]);
        const owner = await connectOutside(fresh, 'owner');
        const tampering = await startTampering(owner, kind.engine);
        await tampering.sql('delete from checkpoints');
        await instance.jobs.seal();
        const found = await complaints(changes);
        const readiness = found.find(({ check }) => check === 'readiness');
        expect(readiness?.status).to.equal('failed');
        expect(readiness?.sentence).to.include('sealing is Degraded: Nothing is sealed. Checkpoint 1 is missing');
        await owner.close();
      },
    );
  });

  it('warns if what answers at Service:Issuer publishes other keys than the configured ones', async () => {
    const key = await makeSealingKey();
    const kid = key.jwks.keys[0]?.kid ?? '';
    const stranger = (await makeSealingKey()).jwks.keys[0];
    let published: readonly object[] = [{ ...stranger, kid }];
    const impostor = await startLoopback(({ path }, response) => {
      const [issuer, jwks_uri] = [impostor.url, `${impostor.url}/.well-known/jwks.json`];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(path.endsWith('jwks.json') ? { keys: published } : { issuer, jwks_uri }));
    });
    const settings = { 'Service:Issuer': impostor.url, 'Service:Signing:Keys:0:Pem': key.pem };
    const ofAddress = async () => {
      const found = await withoutDatabase.complaints({ 'Service:Signing:Keys:0:Path': '', ...settings });
      return found.find(({ check }) => check === 'own address')?.sentence;
    };
    expect(await ofAddress()).to.match(/another key under the name of a configured one/);
    published = [...key.jwks.keys, stranger ?? {}];
    expect(await ofAddress()).to.match(/a key that is not configured here/);
    published = key.jwks.keys;
    expect(await ofAddress()).to.equal(undefined);
    await impostor.close();
  });
}
