/**
 * A hosted Postgres refuses functions that tell the timeline or write a WAL message: decisions go on. Here a superuser takes them
 * away: a function of Postgres gets another name, and one that raises an error gets its name.
 */

import { expect } from 'chai';
import { openPostgresCondition } from '../../../../adapters/storage/postgres/condition.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { CAPABILITIES, type Capability } from '../../../../application/ports/storage.ts';
import { anEntry, newSponsorKey } from '../../../contract/storage-fixtures.ts';
import { type CapturedLog, capturedLog } from '../../../support/captured-log.ts';
import {
  connectOutside,
  type FreshDatabase,
  freshDatabase,
  type OutsideConnection,
} from '../../../support/databases.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { blocksOf, pageText } from '../../../support/pages/page.ts';
import type { Storage } from '../../../support/storage.ts';
import { storageFinding } from '../../../support/storage-finding.ts';

const FUNCTIONS: Readonly<Record<Capability, { readonly name: string; readonly parameters: string }>> = {
  timeline: { name: 'pg_current_wal_lsn', parameters: '' },
  wal_message: { name: 'pg_logical_emit_message', parameters: 'boolean, text, text' },
};
const BOTH = ['timeline', 'wal_message'] as const;

describe('a Postgres that lacks what tells a failover', function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let superuser: OutsideConnection;
  let storage: Storage | undefined;
  let log: CapturedLog;

  before(async () => {
    database = await freshDatabase('postgres');
    superuser = await connectOutside(database, 'superuser');
    await superuser.sql('set allow_system_table_mods = on');
  });
  beforeEach(() => {
    log = capturedLog();
  });
  afterEach(async () => {
    await storage?.close();
    storage = undefined;
    for (const capability of BOTH) await giveBack(capability);
  });
  after(async () => {
    await superuser.close();
    await database.drop();
  });

  /** All functions of a name: a call with the same arguments could find another one. */
  const named = async (name: string) =>
    (await superuser.sql(`select oid::regprocedure::text as signature from pg_proc where proname = '${name}'`)).map(
      ({ signature }) => String(signature),
    );
  const take = async (capability: Capability, code: string) => {
    const { name, parameters } = FUNCTIONS[capability];
    for (const signature of await named(name)) {
      if (code === '42501') await superuser.sql(`revoke execute on function ${signature} from public`);
      else await superuser.sql(`alter function ${signature} rename to taken_${name}`);
    }
    if (code === '42883' || code === '42501') return;
    await superuser.sql(`create function pg_catalog.${name}(${parameters}) returns pg_lsn language plpgsql as $$
      begin raise exception 'wal_level must be set to "logical"' using errcode = '${code}'; end $$`);
  };
  const giveBack = async (capability: Capability) => {
    const { name, parameters } = FUNCTIONS[capability];
    const taken = await named(`taken_${name}`);
    if (taken.length > 0) await superuser.sql(`drop function if exists pg_catalog.${name}(${parameters})`);
    for (const signature of taken) await superuser.sql(`alter function ${signature} rename to ${name}`);
    for (const signature of await named(name)) {
      await superuser.sql(`revoke execute on function ${signature} from mandate_app`);
      await superuser.sql(`grant execute on function ${signature} to public`);
    }
  };

  const opened = async () => {
    storage = await database.open({ log, clock: { now: () => NOON } });
    return storage;
  };
  /** Ends no task. */
  const stopNobody = ({ tasks }: Storage) =>
    tasks.end({ kind: 'sponsor', sponsorKey: newSponsorKey() }, { at: NOON, reason: 'operator_kill_switch' });
  const warned = () => log.lines.map((line) => JSON.parse(line)).filter(({ level }) => level === 'warn');
  const warning = (capability: Capability, code: string) => ({
    level: 'warn',
    message: `Postgres lacks a capability (${CAPABILITIES[capability].needs}): ${CAPABILITIES[capability].without}`,
    code,
    page: 'docs/high-availability.md',
  });
  const doctor = async () => {
    const connectionString = String(database.settings['Service:Database:ConnectionString']);
    const condition = await openPostgresCondition(connectionString, capturedLog());
    return storageFinding(condition, 'database failover').finally(() => condition.close());
  };

  for (const code of ['55000', '0A000', '42883', '42501']) {
    it(`serves, warns once of each at the start, and doctor says so: ${code}`, async () => {
      for (const capability of BOTH) await take(capability, code);
      const serving = await opened();
      await serving.schemaStatus();
      expect(warned()).to.deep.equal([warning('timeline', code), warning('wal_message', code)]);
      await serving.ledger.append(anEntry('admin.denied'));
      expect(await stopNobody(serving)).to.deep.equal({ kind: 'ended', tasks: 0 });
      expect((await serving.readiness.check()).status).to.equal('Healthy');
      expect(warned()).to.have.length(2);
      const { status, sentence } = await doctor();
      expect(status).to.equal('warning');
      for (const capability of BOTH) {
        const { needs, without } = CAPABILITIES[capability];
        expect(sentence).to.include(`${needs} (${code}): ${without}`);
      }
    });
  }

  it('lacks nothing after the grants of docs/high-availability.md, if the right was revoked', async () => {
    for (const capability of BOTH) await take(capability, '42501');
    expect((await doctor()).status).to.equal('warning');
    const grants = blocksOf(pageText('docs/high-availability.md')).find(({ text }) => text.includes('pg_walfile_name'));
    await superuser.sql(String(grants?.text).replaceAll('to mandate;', 'to mandate_app;'));
    expect((await doctor()).status).to.equal('ok');
  });

  it('goes on without a message that is taken away while it serves, and warns then', async () => {
    const serving = await opened();
    expect(await stopNobody(serving)).to.deep.equal({ kind: 'ended', tasks: 0 });
    expect(warned()).to.deep.equal([]);
    await take('wal_message', '42501');
    for (let times = 0; times < 2; times++) {
      expect(await stopNobody(serving)).to.deep.equal({ kind: 'ended', tasks: 0 });
      expect(warned()).to.deep.equal([warning('wal_message', '42501')]);
    }
  });

  for (const code of ['53200', '57014', 'XX000', '25006', 'P0001']) {
    it(`refuses connections on which one of them fails for another reason: ${code}`, async () => {
      for (const capability of BOTH) {
        await take(capability, code);
        const serving = await opened();
        const refused = await serving.ledger.append(anEntry('admin.denied')).catch((error: unknown) => error);
        expect(refused, capability).to.be.instanceOf(Error);
        expect(warned()).to.deep.equal([]);
        expect((await doctor().catch(() => undefined))?.status).to.equal(undefined);
        await serving.close();
        storage = undefined;
        await giveBack(capability);
      }
      expect((await doctor()).status).to.equal('ok');
    });
  }

  it('refuses a switch whose message fails for another reason while it serves', async () => {
    const serving = await opened();
    await serving.schemaStatus();
    // The switch takes a connection of another pool, so Postgres plans its statement now.
    await take('wal_message', '53200');
    const refused = await stopNobody(serving).catch((error: unknown) => error);
    expect(refused).to.be.instanceOf(StorageUnavailable).with.nested.property('fault.code', '53200');
  });

  it('does not take an error of another statement with 55000 for numbers that are taken', async () => {
    const serving = await opened();
    await superuser.sql(`create function public.not_now() returns trigger language plpgsql as $$
      begin raise exception 'not now' using errcode = '55000'; end $$`);
    await superuser.sql('create trigger not_now before insert on ledger for each row execute function not_now()');
    try {
      const refused = await serving.ledger.append(anEntry('admin.denied')).catch((error: unknown) => error);
      expect(refused)
        .to.be.instanceOf(StorageUnavailable)
        .with.nested.property('fault.meaning', 'Postgres cannot run this statement in its present state');
      expect(log.lines.join()).to.not.include('set back');
      const { status, detail } = await serving.readiness.check();
      expect([status, detail]).to.deep.equal([
        'Degraded',
        'Decisions fail: Postgres cannot run this statement in its present state (55000). Introspection and key sets are served.',
      ]);
    } finally {
      await superuser.sql('drop function public.not_now cascade');
    }
  });
});
