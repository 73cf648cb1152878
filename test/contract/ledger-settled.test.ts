import { expect } from 'chai';
import { appendsEntries } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { eventually } from '../support/eventually.ts';
import { onEveryDatabase } from './on-every-database.ts';
import { anEntry } from './storage-fixtures.ts';

onEveryDatabase('the settled part of the ledger', ({ storage, outside, kind }) => {
  const append = () => storage().ledger.append(anEntry('admin.denied'));
  const settled = () => storage().ledger.settledThrough();
  const records = (through: number) => storage().checkpoints.records({ firstSeq: 1, lastSeq: through }, 0, 1000);

  it('is empty in an empty ledger, and then ends with the newest record', async () => {
    expect(await settled()).to.equal(0);
    for (let nth = 1; nth <= 3; nth++) {
      await append();
      expect((await records(await settled())).map(({ seq }) => seq)).to.have.length(nth);
    }
  });

  it('gets no record later, while many are appended at once', async () => {
    let isWriting = true;
    const writing = (async () => {
      for (let round = 0; round < 30; round++) await Promise.all(Array.from({ length: 8 }, append));
      isWriting = false;
    })();
    const seen: (readonly [number, number])[] = [];
    while (isWriting) {
      const through = await settled();
      seen.push([through, (await records(through)).length]);
    }
    await writing;
    for (const [through, count] of seen) expect(await records(through)).to.have.length(count);
  });

  if (kind.engine === 'postgres') {
    it('waits for the appends under way, and lets no other append wait', async () => {
      const connection = await outside('serving');
      await connection.sql('begin');
      await connection.sql(
        appendsEntries(`'[{"at": "${new Date(NOON / 1000).toISOString()}", "event": "admin.denied"}]'`),
      );
      let isCommitted = false;
      const asked = settled().then((through) => ({ through, isCommitted }));
      const watching = await outside('superuser');
      const waits = `select from pg_stat_activity where query like '%virtualtransaction%' and application_name = 'mandate'`;
      await eventually(async () => (await watching.sql(waits)).length > 0);
      await append();
      isCommitted = true;
      await connection.sql('commit');
      expect((await asked).isCommitted).to.equal(true);
      // The record that was appended meanwhile has a higher number, and may count already.
      const newest = await settled();
      expect(await records(newest)).to.have.length((await records(Number.MAX_SAFE_INTEGER)).length);
    });

    it('does not wait for an append that begins later', async () => {
      const through = await settled();
      const connection = await outside('serving');
      await connection.sql('begin');
      await connection.sql(
        appendsEntries(`'[{"at": "${new Date(NOON / 1000).toISOString()}", "event": "admin.denied"}]'`),
      );
      await connection.sql('rollback');
      expect(await settled()).to.equal(through);
    });
  }
});
