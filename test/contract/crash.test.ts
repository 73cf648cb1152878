import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import type { LedgerEvent } from '../../domain/ledger/record.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { databases, type FreshDatabase, type OutsideConnection } from '../support/databases.ts';
import { ledgerOf } from './storage-fixtures.ts';

const CHILD = new URL('./crash-child.ts', import.meta.url).pathname;
const ROUNDS = 3;

for (const kind of databases) {
  describe(`a process that is killed while it runs decisions, on ${kind.name}`, () => {
    let database: FreshDatabase;
    before(async function () {
      this.timeout(60_000);
      database = await kind.fresh();
    });
    after(() => database.drop());

    it('has lost no start and no end of a task that it reported, and has stored each with grant, record and assertion', async function () {
      this.timeout(60_000);
      const answered: string[] = [];
      for (let round = 1; round <= ROUNDS; round++) {
        const child = spawn(process.execPath, [...asProgram(CHILD)], {
          env: { ...process.env, SETTINGS: JSON.stringify(database.settings) },
          stdio: ['ignore', 'pipe', 'inherit'],
        });
        const lines = createInterface({ input: child.stdout });
        const enough = answered.length + 100 * round;
        lines.on('line', (line) => {
          answered.push(line);
          if (answered.length === enough) child.kill('SIGKILL');
        });
        await Promise.all([once(child, 'exit'), once(lines, 'close')]);
        expect(answered.length).to.be.at.least(enough);
      }
      const outside = await database.outside?.();
      if (kind.engine === 'postgres') await untilAlone(outside);
      const storage = await database.open();
      const ledger = await ledgerOf(storage);
      const recordedAs = (event: LedgerEvent) =>
        ledger.flatMap((record) => (record.event === event ? record.taskId : []));
      const recorded = { opened: recordedAs('token.issued'), ended: recordedAs('task.revoked') };
      for (const [what, taskIds] of Object.entries(recorded)) {
        const reported = answered.flatMap((line) => (line.startsWith(what) ? line.slice(what.length + 1) : []));
        expect(reported).not.to.have.length(0);
        expect(taskIds).to.include.members(reported);
        expect(new Set(taskIds), what).to.have.property('size', taskIds.length);
      }

      const stored =
        (await outside?.sql(`select t.task_id, state, grant_hash, ended_at, revoked_at
          from tasks t left join task_grants using (task_id)`)) ?? [];
      const spent = (await outside?.sql('select jti from spent_assertions')) ?? [];
      expect(stored.every((row) => row.grant_hash !== null)).to.equal(true);
      expect(stored.map((row) => row.task_id)).to.have.members(recorded.opened);
      const ended = stored.filter((row) => row.state === 'revoked');
      expect(ended.map((row) => row.task_id)).to.have.members(recorded.ended);
      for (const row of stored) expect(String(row.revoked_at)).to.equal(String(row.ended_at));
      expect(spent).to.have.length(recorded.opened.length + recorded.ended.length);
      await outside?.close();
      await storage.close();
    });
  });
}

/** Waits until Postgres has finished the statements that the killed client had sent. */
async function untilAlone(outside: OutsideConnection | undefined): Promise<void> {
  for (let others: unknown; others !== 0; await setTimeout(5)) {
    const [row] =
      (await outside?.sql(`select count(*)::integer as others from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and backend_type = 'client backend'`)) ?? [];
    others = row?.others;
  }
}
