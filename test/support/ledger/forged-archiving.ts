/** `audit.archived` records that no `audit-archive` wrote: one that the service will seal, and one under a sealed number. */

import type { LedgerEvent } from '../../../domain/ledger/record.ts';
import type { TestDatabase } from '../databases.ts';
import type { Mandate } from '../mandate.ts';

/** Appends a record, without sealing it. */
export async function appendRecord({ sql }: Pick<Mandate, 'sql'>, event: LedgerEvent, detail: string): Promise<void> {
  await sql(
    `insert into ledger (ts, event, decision, detail) select max(ts), '${event}', 'allow', '${detail}' from ledger`,
  );
}

/**
 * The owner lifts the guards of the ledger, and puts a record of 2099 under the highest sealed number.
 * @param detail by the number before
 * @returns the number
 */
export async function forgeArchiving(
  { sql }: Pick<Mandate, 'sql'>,
  engine: TestDatabase['engine'],
  detail: (last: number) => string,
): Promise<number> {
  const [{ seq } = { seq: 0 }] = await sql('select max(last_seq) as seq from checkpoints');
  const number = Number(seq);
  if (engine === 'sqlite') {
    for (const { name } of await sql("select name from sqlite_master where type = 'trigger' and tbl_name = 'ledger'"))
      await sql(`drop trigger ${name}`);
    await sql(
      `update ledger set ts = ${Date.UTC(2099, 1, 1)}000, event = 'audit.archived', detail = '${detail(number - 1)}'
        where seq = ${number}`,
    );
    return number;
  }
  await sql('grant all on ledger to current_user');
  await sql('alter table ledger disable trigger user');
  const [from, to] = ['2099-02-01T00:00:00Z', '2099-03-01T00:00:00Z'];
  await sql(`create table ledger_2099_02 partition of ledger for values from ('${from}') to ('${to}')`);
  await sql(
    `insert into ledger (seq, ts, event, decision, detail) overriding system value
      values (${number}, '${from}', 'audit.archived', 'allow', '${detail(number - 1)}')`,
  );
  return number;
}
