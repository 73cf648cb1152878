import { expect } from 'chai';
import { openSqliteCondition } from '../../../../adapters/storage/sqlite/open-ledger.ts';
import { freshDatabase } from '../../../support/databases.ts';

describe('a migrated schema on SQLite', () => {
  it('refuses changes of the ledger, its archives and the checkpoints; the condition names each guard that the owner altered', async () => {
    const database = await freshDatabase('sqlite');
    const outside = await database.outside?.();
    if (outside === undefined) throw new Error('this database cannot be reached from outside');
    const condition = await openSqliteCondition(String(database.settings['Service:Database:Path']));
    expect(await condition.guards()).to.deep.equal({ tables: 3, missing: [] });

    const recreated = (name: string, rest: string) =>
      outside.sql(`drop trigger ${name}`).then(() => outside.sql(`create trigger ${name} ${rest}`));
    const abort = "begin select raise(abort, 'the ledger is append-only'); end";
    let known: readonly unknown[] = [];
    for (const [name, rest, table] of [
      ['ledger_no_delete', `before\n\tdelete   on ledger ${abort}`, undefined],
      ['ledger_no_delete', `before delete on ledger when 0 ${abort}`, 'ledger'],
      ['ledger_no_update', `before update on tasks ${abort}`, 'ledger'],
      ['ledger_archives_no_update', `before update of month on ledger_archives ${abort}`, 'ledger_archives'],
      ['checkpoints_no_delete', `after delete on checkpoints ${abort}`, 'checkpoints'],
      ['checkpoints_no_replace', `before insert on checkpoints when false ${abort}`, 'checkpoints'],
    ] as const) {
      await recreated(name, rest);
      const what = `the trigger ${name} is not there, or not as the migrations make it`;
      known = table === undefined ? known : [...known, { table, what }];
      expect((await condition.guards()).missing, rest).to.have.deep.members([...known]);
    }
    for (const [table, ...statements] of [
      [
        'ledger',
        "create trigger swallows before insert on ledger when new.sponsor = 'ceo' begin select raise(ignore); end",
      ],
      [
        'tasks',
        "create trigger renames after insert on tasks begin update tasks set sponsor = 'ada' where task_id = new.task_id; end",
      ],
    ] as const) {
      for (const statement of statements) await outside.sql(statement);
      const what = `the trigger ${statements[0]?.split(' ')[2]} is not of the migrations`;
      known = [...known, { table, what }];
      expect((await condition.guards()).missing, table).to.have.deep.members([...known]);
    }
    // Without its primary key the ledger takes a number twice.
    const [made] = await outside.sql("select sql from sqlite_schema where name = 'ledger'");
    await outside.sql('drop table ledger');
    await outside.sql(String(made?.sql).replace('primary key autoincrement', ''));
    const lost = { table: 'ledger', what: 'the table ledger is not there, or not as the migrations make it' };
    expect((await condition.guards()).missing).to.deep.include(lost);
    await condition.close();
    await outside.close();
    await database.drop();
  });
});
