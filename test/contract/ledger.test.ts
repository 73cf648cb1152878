import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import type { SpentAssertion } from '../../application/decisions/assertion.ts';
import { makeTaskId, makeTokenId } from '../../domain/identifiers.ts';
import { instantFromMicros, instantFromMillis, plusSeconds } from '../../domain/instant.ts';
import type { LedgerEntry } from '../../domain/ledger/record.ts';
import { blockDenial } from '../../domain/sponsors/block.ts';
import { databases } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { contentsOf, whileFailing } from './faults.ts';
import { holdAppends } from './hold.ts';
import { onEveryDatabase } from './on-every-database.ts';
import {
  anAssertion,
  anEntry,
  aRefusal,
  asEntry,
  ledgerOf,
  newAgentId,
  newSponsorKey,
  recordedBy,
  said,
  together,
} from './scene.ts';

const everything: LedgerEntry = {
  at: instantFromMicros(NOON + 1),
  event: 'audit.archived',
  taskId: makeTaskId('01M31S7W68TMK7WDX8YKPSYTES'),
  agentId: newAgentId(),
  sponsor: 'ada 😀 "quoted" \\ \u0001 \u2028',
  audience: 'https://jira.example/?a=1&b=%20',
  scope: 'jira:read jira:comment',
  jti: makeTokenId('01M31S7W68TMK7WDX8YKPSYTEA'),
  delegationDepth: 4,
  decision: 'deny',
  reason: 'scope_widened',
  count: 12_345,
  detail: 'tab\tline\nend',
};

onEveryDatabase('appending to the ledger', ({ storage }) => {
  const ledger = () => storage().ledger;

  it('keeps every field, to the microsecond', async () => {
    const records = await recordedBy(storage(), () => ledger().append(everything));
    expect(records.map(asEntry)).to.deep.equal([everything]);
  });

  it('keeps what is absent absent, and seals nothing by itself', async () => {
    const records = await recordedBy(storage(), () => ledger().append(anEntry('admin.denied')));
    expect(records.map(({ seq, at, ...rest }) => rest)).to.deep.equal([
      {
        checkpoint: undefined,
        event: 'admin.denied',
        taskId: undefined,
        agentId: undefined,
        sponsor: undefined,
        audience: undefined,
        scope: undefined,
        jti: undefined,
        delegationDepth: undefined,
        decision: 'allow',
        reason: undefined,
        count: undefined,
        detail: undefined,
      },
    ]);
  });

  it('numbers records in the order in which they are appended', async () => {
    for (let nth = 0; nth < 5; nth++) await ledger().append(anEntry('admin.denied', { detail: String(nth) }));
    const last = (await ledgerOf(storage())).toSorted((a, b) => a.seq - b.seq).slice(-5);
    expect(last.map((record) => record.detail)).to.deep.equal(['0', '1', '2', '3', '4']);
  });

  it('appends no text that would be stored as another', async () => {
    const before = await ledgerOf(storage());
    for (const field of ['sponsor', 'audience', 'scope', 'reason', 'detail']) {
      for (const text of ['a\u0000b', '\ud83d']) {
        const thrown = await ledger()
          .append({ ...everything, [field]: text })
          .catch((error: unknown) => error);
        expect(thrown).to.be.instanceOf(RangeError);
        expect(String(thrown)).to.include(field).and.not.include(text);
      }
    }
    expect(await ledgerOf(storage())).to.deep.equal(before);
  });
});

onEveryDatabase('dating a record', ({ storage }) => {
  const appendAt = async (seconds: number) => {
    const at = plusSeconds(NOON, seconds);
    const [record] = await recordedBy(storage(), () => storage().ledger.append(anEntry('admin.denied', { at })));
    return record === undefined ? undefined : (record.at - NOON) / 1_000_000;
  };

  it('puts it no earlier than what is there, unless that is a minute ahead', async () => {
    expect(await appendAt(100)).to.equal(100);
    expect(await appendAt(99)).to.equal(100);
    expect(await appendAt(40.000001)).to.equal(100);
    expect(await appendAt(40)).to.equal(40);
    expect(await appendAt(10_000)).to.equal(10_000);
    expect(await appendAt(101)).to.equal(101);
    expect(await appendAt(100.5)).to.equal(101);
  });
});

onEveryDatabase('recording a refusal', ({ storage }) => {
  const ledger = () => storage().ledger;
  const block = (kind: 'disabled' | 'deleted') => {
    const sponsorKey = newSponsorKey();
    return storage()
      .sponsors.block({ sponsorKey, source: 'admin', kind, blockedAt: NOON }, 'sponsor_blocked')
      .then(() => sponsorKey);
  };

  it('records the entry and answers its reason', async () => {
    const entry = aRefusal('scope_intersection_empty', {
      agentId: newAgentId(),
      sponsor: 'ada',
      audience: 'https://a',
    });
    const records = await recordedBy(storage(), async () => {
      const refusal = { entry, assertion: anAssertion(newAgentId()), sponsorKey: newSponsorKey() };
      expect(await ledger().refuse(refusal)).to.equal('scope_intersection_empty');
      expect(await ledger().refuse({ entry })).to.equal('scope_intersection_empty');
    });
    expect(records.map(asEntry)).to.deep.equal([said(entry), said(entry)]);
  });

  it('uses the assertion up, and records a second refusal on it as a replay', async () => {
    const assertion = anAssertion(newAgentId());
    const refusal = { entry: aRefusal('audience_not_allowed', { audience: 'https://b' }), assertion };
    const records = await recordedBy(storage(), async () => {
      expect(await ledger().refuse(refusal)).to.equal('audience_not_allowed');
      expect(await ledger().refuse(refusal)).to.equal('actor_replayed');
    });
    expect(records.map(asEntry)).to.deep.equal([
      said(refusal.entry),
      { ...said(refusal.entry), reason: 'actor_replayed' },
    ]);
  });

  it('uses up both assertions of a request, also where one of them is a replay', async () => {
    const agentId = newAgentId();
    const refuse = (assertion: SpentAssertion) =>
      ledger().refuse({ entry: aRefusal('audience_not_allowed', { agentId }), assertion });
    // In both orders of their names: one of the two comes before the other in the transaction.
    for (const [used, unused] of [
      ['0', '~'],
      ['~', '0'],
    ]) {
      const [first, second, third, fourth] = [used, used, unused, unused].map((start) =>
        anAssertion(agentId, `${start}-${randomUUID()}`),
      ) as [SpentAssertion, SpentAssertion, SpentAssertion, SpentAssertion];
      const records = await recordedBy(storage(), async () => {
        expect(await refuse(together(first, second))).to.equal('audience_not_allowed');
        expect(await refuse(together(third, second))).to.equal('actor_replayed');
        expect(await refuse(together(first, fourth))).to.equal('actor_replayed');
        for (const each of [first, second, third, fourth]) expect(await refuse(each)).to.equal('actor_replayed');
      });
      expect(records).to.have.length(7);
    }
  });

  it('records the block of a person who is on the list', async () => {
    for (const kind of ['disabled', 'deleted'] as const) {
      const sponsorKey = await block(kind);
      const assertion = anAssertion(newAgentId());
      const refusal = { entry: aRefusal('scope_widened'), assertion, sponsorKey };
      const records = await recordedBy(storage(), async () => {
        expect(await ledger().refuse(refusal)).to.equal(blockDenial(kind));
      });
      expect(records.map((record) => record.reason)).to.deep.equal([blockDenial(kind)]);
    }
  });

  it('puts a replay before a block', async () => {
    const sponsorKey = await block('disabled');
    const assertion = anAssertion(newAgentId());
    await ledger().refuse({ entry: aRefusal('task_expired'), assertion });
    const refusal = { entry: aRefusal('task_expired'), assertion, sponsorKey };
    expect(await ledger().refuse(refusal)).to.equal('actor_replayed');
  });

  it('asks the list about nobody it is not told of', async () => {
    await block('disabled');
    const refusal = { entry: aRefusal('task_expired', { sponsor: 'somebody' }), assertion: anAssertion(newAgentId()) };
    expect(await ledger().refuse(refusal)).to.equal('task_expired');
  });

  it('uses an assertion up once when it is refused fifty times at once', async () => {
    const refusal = { entry: aRefusal('grant_not_found'), assertion: anAssertion(newAgentId()) };
    const reasons = await Promise.all(Array.from({ length: 50 }, () => ledger().refuse(refusal)));
    expect(reasons.filter((reason) => reason === 'grant_not_found')).to.have.length(1);
    expect(reasons.filter((reason) => reason === 'actor_replayed')).to.have.length(49);
  });
});

onEveryDatabase(
  'the ledger, seen from outside,',
  ({ storage, database, kind }) => {
    const reach = async (role?: 'serving' | 'superuser') => {
      const connection = await database().outside?.(role);
      if (connection === undefined) throw new Error('this database cannot be reached from outside');
      return connection;
    };

    for (const table of ['spent_assertions', 'ledger']) {
      it(`a refusal leaves nothing behind when writing to ${table} fails`, async () => {
        const connection = await reach();
        const refusal = { entry: aRefusal('grant_revoked'), assertion: anAssertion(newAgentId()) };
        const before = await contentsOf(connection);
        const outcome = await whileFailing(kind, connection, { table }, () =>
          storage()
            .ledger.refuse(refusal)
            .catch((error: unknown) => error),
        );
        expect(outcome).to.be.instanceOf(Error);
        expect(await contentsOf(connection)).to.deep.equal(before);
        expect(await storage().ledger.refuse(refusal)).to.equal('grant_revoked');
        await connection.close();
      });
    }

    it('a refusal waits for a block of its person that is under way, and is recorded as that', async () => {
      const connection = await reach();
      const sponsorKey = newSponsorKey();
      const hold = await holdAppends(kind, connection);
      const blocking = storage().sponsors.block(
        { sponsorKey, source: 'admin', kind: 'deleted', blockedAt: NOON },
        'sponsor_blocked',
      );
      await hold.waiting(1);
      const refusing = storage().ledger.refuse({ entry: aRefusal('scope_widened'), sponsorKey });
      await hold.waiting(2);
      await hold.release();
      await blocking;
      expect(await refusing).to.equal('sponsor_not_found');
      await connection.close();
    });

    it('says from when on it is still online once months have been archived', async () => {
      const connection = await reach('superuser');
      const months = [
        ['2026-07', '2026-08-01'],
        ['2026-08', '2026-09-01'],
      ] as const;
      for (const [month, end] of months) {
        const at = kind.engine === 'sqlite' ? String(Date.parse(end) * 1_000) : `'${end}T00:00:00Z'`;
        await connection.sql(
          `insert into ledger_archives (month, archived_before, archived_at) values ('${month}', ${at}, ${at})`,
        );
      }
      const page = await storage().ledger.page({ limit: 1, now: NOON });
      expect(page.archivedBefore).to.equal(instantFromMillis(Date.parse('2026-09-01')));
      await connection.close();
    });

    it('refuses to be changed or cut, whoever asks', async () => {
      await storage().ledger.append(everything);
      const before = await ledgerOf(storage());
      const tables = ['ledger', ...(kind.engine === 'postgres' ? await partitions() : [])];
      for (const role of kind.engine === 'postgres' ? (['serving', undefined, 'superuser'] as const) : [undefined]) {
        const connection = await reach(role);
        for (const table of tables) {
          for (const statement of [
            `update ${table} set reason = 'nothing' where seq > 0`,
            `delete from ${table}`,
            ...(kind.engine === 'postgres'
              ? [
                  `truncate ${table}`,
                  `insert into ${table} select * from ledger on conflict (ts, seq) do update set reason = 'nothing'`,
                ]
              : ["insert or replace into ledger (seq, ts, event) select seq, ts, 'replaced' from ledger"]),
          ]) {
            const thrown = await connection.sql(statement).catch((error: unknown) => error);
            expect(String(thrown), statement).to.match(/append-only|permission denied/);
          }
        }
        await connection.close();
      }
      expect(await ledgerOf(storage())).to.deep.equal(before);
    });

    if (kind.engine === 'postgres') {
      it('takes a record from the role that serves only by the functions that number and date it', async () => {
        const before = await ledgerOf(storage());
        const connection = await reach('serving');
        for (const statement of [
          "insert into ledger (seq, ts, event, decision) values (9223372036854775807, now(), 'made.up', 'allow')",
          "insert into ledger (ts, event, decision) values (now(), 'token.issued', 'allow')",
          "select nextval('ledger_seq')",
          "select setval('ledger_seq', 1)",
        ]) {
          const thrown = await connection.sql(statement).catch((error: unknown) => error);
          expect(String(thrown), statement).to.match(/permission denied/);
        }
        await connection.close();
        expect(await ledgerOf(storage())).to.deep.equal(before);
      });

      it('refuses changes of a partition that was attached by hand as well', async () => {
        const superuser = await reach('superuser');
        await superuser.sql('begin');
        await superuser.sql('create table by_hand (like ledger including defaults including constraints)');
        const year = "from ('2040-01-01Z') to ('2041-01-01Z')";
        await superuser.sql(`alter table ledger attach partition by_hand for values ${year}`);
        await superuser.sql("insert into ledger (ts, event, decision) values ('2040-06-01Z', 'x', 'allow')");
        for (const statement of ["update by_hand set event = 'y'", 'delete from by_hand']) {
          await superuser.sql('savepoint attempt');
          const thrown = await superuser.sql(statement).catch((error: unknown) => error);
          expect(String(thrown), statement).to.match(/append-only/);
          await superuser.sql('rollback to attempt');
        }
        await superuser.sql('rollback');
        await superuser.close();
      });

      it('takes no record so long that it could not be exported with its month', async () => {
        const connection = await reach('serving');
        const said = (detail: string) =>
          `select append_records(json_build_array(json_build_object('at', now(), 'event', 'x', 'detail', ${detail})))`;
        const thrown = await connection.sql(said("repeat('x', 131072)")).catch((error: unknown) => error);
        expect(String(thrown)).to.match(/ledger_size/);
        await connection.sql('begin');
        await connection.sql(`select create_ledger_partitions(now(), 0)`);
        await connection.sql(said("repeat('x', 131071)"));
        await connection.sql('rollback');
        await connection.close();
      });

      it('gets partitions around the present only, and is not misled by a table of the same name', async () => {
        const connection = await reach('serving');
        for (const far of ['9000-01-01', '0001-01-01 BC']) {
          const thrown = await connection
            .sql(`select create_ledger_partitions('${far}', 12)`)
            .catch((error: unknown) => error);
          expect(String(thrown)).to.match(/around the present only/);
        }
        await connection.close();
      });
    }

    async function partitions(): Promise<string[]> {
      const connection = await reach();
      const rows = await connection.sql(
        "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'ledger'::regclass",
      );
      await connection.close();
      expect(rows).to.have.length.greaterThan(2);
      return rows.map((row) => String(row.name));
    }
  },
  databases,
);
