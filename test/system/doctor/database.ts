/** What `mandate doctor` finds in the database. */

import { createServer } from 'node:net';
import { expect } from 'chai';
import { CONNECTIONS_PER_PROCESS } from '../../../adapters/storage/postgres/limits.ts';
import type { NamedFinding } from '../../../application/doctor/examine.ts';
import { runMandate } from '../../support/cli-run.ts';
import { startCommand } from '../../support/command-process.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { connectOutside } from '../../support/databases.ts';
import { append } from '../../support/ledger/fill.ts';
import { listen } from '../../support/listening.ts';
import { tcpProxy } from '../../support/tcp-proxy.ts';
import type { Examined } from './examined.ts';

/** The name of the partition `ahead` months from now, such as `ledger_2026_11`. */
function partition(ahead: number): string {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1));
  return `ledger_${month.toISOString().slice(0, 7).replace('-', '_')}`;
}

export function testDatabase(examined: Examined, kind: TestDatabase): void {
  const { isPostgres, complaints, expectOnly, expectFinding, onFresh } = examined;

  it('finds a schema that is too new or absent', async () => {
    const { mandate, good } = examined;
    await mandate.sql("insert into schema_migrations (name, batch) values ('9999-of-a-newer-release', 2)");
    await expectOnly(
      await complaints(),
      ['schema', 'warning', /newer release/],
      ['readiness', 'warning', /^database is Degraded: The database was migrated by a newer release\.$/],
    );
    await mandate.sql("delete from schema_migrations where name = '9999-of-a-newer-release'");
    await expectOnly(await complaints());
    const empty = await kind.fresh('absent');
    const found = await complaints({ ...good, ...empty.settings });
    await empty.drop();
    if (isPostgres) {
      await expectOnly(found, ['schema', 'failed', /no schema/]);
      expect(found[0]?.remedy).to.equal(
        'Run `mandate migrate`. If it has run on this Postgres, its role has another search_path than the serving role.',
      );
    } else await expectOnly(found, ['database', 'failed', /names no file/]);
  });

  it('finds a row beside the ledger that no record has', async () => {
    const { mandate } = examined;
    const at = isPostgres ? "'2026-01-01Z'" : '1767225600000000';
    await mandate.sql(
      `insert into operator_acts (seq, iss, sub, role, act, reason, salt, at)
        values (999999999, 'https://idp.example', 'olga', 'responder', 'DELETE /admin/tasks', 'Routine', 'x', ${at})`,
    );
    const found = await complaints();
    await mandate.sql('delete from operator_acts where seq = 999999999');
    await expectOnly(found, [
      'rows beside the ledger',
      'failed',
      /reason of record 999999999 differs: the ledger has no record/,
    ]);
    expect(JSON.stringify(found)).not.to.contain('Routine');
    await expectOnly(await complaints());
  });

  it('names each column that another tool has dropped or renamed, and so does mandate migrate', async () => {
    const fresh = await kind.fresh();
    const outside = await connectOutside(fresh);
    await outside.sql('alter table approvals drop column title');
    await outside.sql('alter table sessions rename column sid to session');
    await outside.close();
    const found = (await complaints({ ...examined.good, ...fresh.settings })).find(({ check }) => check === 'schema');
    const { code, out, err } = await runMandate(['migrate'], fresh.settings);
    await fresh.drop();
    expect(found?.status).to.equal('failed');
    for (const difference of [
      'the column title of the table approvals is missing',
      'the column session of the table sessions is not of the migrations',
    ])
      for (const text of [found?.sentence, `${out}${err}`]) expect(text).to.include(difference);
    expect([code, out.includes('the schema is current')]).to.deep.equal([1, false]);
  });

  it('finds a removed trigger on each table of the ledger', async () => {
    const lifted: readonly (readonly [string, RegExp])[] = isPostgres
      ? [
          [
            'alter function append_records set search_path = pg_catalog, public, pg_temp',
            /ledger: append_records finds functions of other roles/,
          ],
          ['drop trigger checkpoints_append_only on checkpoints', /checkpoints: no trigger refuses statements/],
          [
            `drop trigger ledger_append_only on ${partition(0)}`,
            new RegExp(`${partition(0)}: no trigger refuses statements`),
          ],
          ['alter table ledger disable trigger ledger_append_only_rows', /ledger: no trigger refuses changes of rows/],
          [
            `grant truncate on ${partition(1)} to mandate_app`,
            new RegExp(`${partition(1)}: truncate granted to mandate_app`),
          ],
          ['grant delete on checkpoints to public', /checkpoints: delete granted to everybody/],
          [
            'create or replace function refuse_ledger_change() returns trigger language plpgsql as $$ begin return new; end $$',
            /refuse_ledger_change does not refuse/,
          ],
        ]
      : [
          [
            'drop trigger checkpoints_no_update',
            /checkpoints: the trigger checkpoints_no_update is not there, or not as the migrations make it/,
          ],
          ['drop trigger ledger_no_replace', /ledger: the trigger ledger_no_replace is not there/],
        ];
    await onFresh(async (fresh, sql) => {
      for (const [statement, sentence] of lifted) {
        await sql(statement);
        const found = (await complaints(fresh.settings)).filter(({ check }) => check === 'ledger guards');
        expect(found, statement).to.have.lengthOf(1);
        expect(found[0]?.status).to.equal('failed');
        expect(found[0]?.sentence).to.match(new RegExp(`${sentence.source}|and \\d+ more`));
      }
    });
  });

  if (isPostgres) {
    it('warns if next month has no partition, and fails if this month has none', async () => {
      await onFresh(async (fresh, sql) => {
        await sql(`alter table ledger detach partition ${partition(1)}`);
        await expectFinding(fresh.settings, 'ledger partitions', 'warning', /^There is no partition for \d{4}-\d\d\.$/);
        await sql(`alter table ledger detach partition ${partition(0)}`);
        await expectFinding(fresh.settings, 'ledger partitions', 'failed', /Nothing can be recorded now/);
      });
    });

    it('warns of a remote connection without encryption, or without certificate verification', async () => {
      for (const [given, sentence] of [
        ['', /is not encrypted/],
        ['?sslmode=no-verify', /for whoever answers there/],
      ] as const) {
        const elsewhere = `postgresql://mandate_app@0.0.0.0:9/mandate${given}`;
        await expectOnly(
          await complaints({ 'Service:Database:ConnectionString': elsewhere }),
          ['database', 'failed', /could not be reached/],
          ['database connection', 'warning', sentence],
        );
      }
    });

    it('finds a serving role that is owner or superuser, and one with too many or too few privileges', async () => {
      const { database } = examined;
      const { 'Service:Database:MigrationConnectionString': owner = '' } = database.settings;
      const serving = (connection: string) => complaints({ 'Service:Database:ConnectionString': connection });
      await expectOnly(await serving(owner), ['database role', 'failed', /mandate_owner, owns the ledger/]);
      await expectOnly(await serving(owner.replace('mandate_owner', 'postgres')), [
        'database role',
        'failed',
        /superuser/,
      ]);
      const onLaptop = await complaints({ 'Service:Database:ConnectionString': owner, NODE_ENV: 'development' });
      await expectOnly(onLaptop, ['database role', 'warning', /owns the ledger/]);

      await onFresh(async (fresh, sql) => {
        for (const [privilege, status, sentence] of [
          ['insert on ledger', 'failed', /may change the ledger: insert on ledger\./],
          ['truncate on tasks', 'warning', /more than it needs: truncate on tasks\./],
          ['update (seq) on outbox', 'warning', /more than it needs: update \(seq\) on outbox\./],
        ] as const) {
          await sql(`grant ${privilege} to mandate_app`);
          await expectFinding(fresh.settings, 'database role', status, sentence);
          await sql(`revoke ${privilege} from mandate_app`);
        }
        for (const [grantee, sentence] of [
          ['mandate_app', /^mandate_app may create functions in the schema of the ledger/],
          ['public', /^Every role of the database may create in the schema of the ledger\.$/],
        ] as const) {
          await sql(`grant create on schema public to ${grantee}`);
          for (const NODE_ENV of ['production', 'development']) {
            const found = await complaints({ ...fresh.settings, NODE_ENV });
            await expectOnly(found, ['database role', 'failed', sentence]);
            expect(found[0]?.remedy).to.include(`\`revoke create on schema "public" from ${grantee}\``);
          }
          await sql(`revoke create on schema public from ${grantee}`);
        }
        const connection = await connectOutside(fresh, 'superuser');
        const [{ name } = {}] = await connection.sql('select current_database() as name');
        await connection.sql(`grant all on database ${name} to mandate_app`);
        await connection.close();
        const inDatabase = /more than it needs: create in the database\./;
        await expectFinding(fresh.settings, 'database role', 'warning', inDatabase);
        await sql(`revoke create on database ${name} from mandate_app`);
        await sql('revoke select on agents from mandate_app');
        await expectFinding(fresh.settings, 'database role', 'failed', /lacks what decisions need: select on agents\./);
        await sql('grant select on agents to mandate_app');
        await expectOnly(await complaints(fresh.settings));
      });
    });

    it('reports a database that does not answer once, with the cause', async () => {
      const { good } = examined;
      const down = { 'Service:Database:ConnectionString': 'postgresql://mandate_app@127.0.0.1:9/mandate' };
      await expectFinding(down, 'database', 'failed', /^Postgres could not be reached \(ECONNREFUSED\)\.$/);
      const unknown = good['Service:Database:ConnectionString']?.replace(/\w+$/, 'no_such_database');
      await expectFinding(
        { 'Service:Database:ConnectionString': unknown },
        'database',
        'failed',
        /^Service:Database:ConnectionString \(Service__Database__ConnectionString\) names a database that does not exist\.$/,
      );
      const stranger = good['Service:Database:ConnectionString']?.replace('mandate_app', 'nobody');
      await expectFinding(
        { 'Service:Database:ConnectionString': stranger },
        'database',
        'failed',
        /names a role that the server refuses/,
      );
    });

    it('finds what keeps decisions from being written', async () => {
      await onFresh(async (fresh, sql) => {
        const fails = (sentence: RegExp) => expectFinding(fresh.settings, 'database writes', 'failed', sentence);
        const superuser = await connectOutside(fresh, 'superuser');
        await superuser.sql('begin; lock table ledger in share mode');
        const [{ pid } = {}] = await superuser.sql('select pg_backend_pid() as pid');
        await fails(new RegExp(`holds a lock for which decisions wait: process ${pid} on ledger\\.$`));
        await superuser.sql('rollback');
        await superuser.sql('select pg_advisory_lock(1296105476, 0)');
        await fails(new RegExp(`holds a lock for which decisions wait: process ${pid}\\.$`));
        await superuser.sql('select pg_advisory_unlock_all()');
        await superuser.close();
        await sql(`create function full_disk() returns trigger language plpgsql as $$
          begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`);
        await sql('create trigger full_disk before insert on spent_assertions execute function full_disk()');
        await expectOnly(
          await complaints(fresh.settings),
          ['schema', 'failed', /the trigger full_disk of the table spent_assertions is not of the migrations\.$/],
          ['database writes', 'failed', /^A row cannot be written: a disk of the Postgres server is full \(53100\)\.$/],
        );
        await sql('drop trigger full_disk on spent_assertions; drop function full_disk()');
        expect(await sql('select from spent_assertions')).to.deep.equal([]);
        expect(await complaints(fresh.settings)).to.deep.equal([]);
      });
    });

    it('says how many connections a replica needs if the role gets none', async () => {
      await onFresh(async (fresh) => {
        const superuser = await connectOutside(fresh, 'superuser');
        const [{ name } = {}] = await superuser.sql('select current_database() as name');
        await superuser.sql(`alter database ${name} connection limit 0`);
        const found = await complaints(fresh.settings);
        const [database] = found.filter(({ check }) => check === 'database');
        expect(database?.sentence).to.equal(
          'Postgres gives no further connection: its limit, or that of the database or the role, is reached (53300).',
        );
        expect(database?.remedy).to.include(`Each replica takes up to ${CONNECTIONS_PER_PROCESS} connections.`);
        await superuser.sql(`alter database ${name} connection limit -1`);
        await superuser.close();
      });
    });

    it('finds a sequence that was set back below used numbers', async () => {
      const { clock } = examined;
      await onFresh(async (fresh, sql) => {
        const storage = await fresh.open();
        await append(storage, 4, clock.now());
        await storage.close();
        await sql("select setval('ledger_seq', 2)");
        await expectOnly(
          await complaints(fresh.settings),
          ['ledger numbering', 'failed', /set back below numbers/],
          ['ledger sealing', 'failed', /^4 records are not sealed, and cannot be; there is no checkpoint yet\.$/],
        );
      });
    });

    it('ends within 15 seconds if neither the database nor the provider nor the sink answers', async () => {
      const { good } = examined;
      const proxy = await tcpProxy(Number(new URL(good['Service:Database:ConnectionString'] ?? '').port));
      proxy.silence();
      const silent = createServer(() => undefined);
      const hanging = `http://127.0.0.1:${await listen(silent)}`;
      const connection = new URL(good['Service:Database:ConnectionString'] ?? '');
      connection.port = String(proxy.port);
      const startedAt = performance.now();
      const { ended } = startCommand(['doctor', '--json'], {
        ...good,
        'Service:Database:ConnectionString': connection.href,
        'Service:UpstreamIdp:Issuer': hanging,
        'Service:Issuer': hanging,
        'Service:Audit:Sink:Url': hanging.replace('http:', 'https:'),
      });
      const { code, out } = await ended;
      expect(performance.now() - startedAt).to.be.lessThan(15_000);
      expect(code).to.equal(3);
      const failed = (JSON.parse(out) as readonly NamedFinding[]).filter(({ status }) => status === 'failed');
      expect(failed.map(({ check }) => check)).to.deep.equal(['database', 'provider discovery', 'sink']);
      silent.close();
      await proxy.close();
    });
  }
}
