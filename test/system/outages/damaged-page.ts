/** A page of a table on Postgres whose checksum is wrong. */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { openPostgresCondition } from '../../../adapters/storage/postgres/condition.ts';
import { capturedLog } from '../../support/captured-log.ts';
import { eventually } from '../../support/eventually.ts';
import type { FaultyPostgres } from './faulty-postgres.ts';
import { HEALTHY } from './faulty-postgres.ts';
import { DATABASE } from './own-postgres.ts';

/** Bytes of the first page, behind its header. */
const DAMAGE = { at: 4000, bytes: 64 } as const;

export function testDamagedPage(faulty: FaultyPostgres): void {
  it('has a damaged page: readiness and doctor say it also while no request reads the page', async function () {
    this.timeout(60_000);
    const { own, mandate, agent, readiness } = faulty;
    const token = String((await agent.exchange()).body.access_token);
    await own.sql('checkpoint');
    const [row] = await own.sql("select pg_relation_filepath('tasks') as path");
    const file = join(own.postgres.data, String(row?.path));
    await own.postgres.halt('fast');
    const whole = readFileSync(file);
    const damaged = Buffer.from(whole);
    damaged.fill(0xff, DAMAGE.at, DAMAGE.at + DAMAGE.bytes);
    writeFileSync(file, damaged);
    await own.postgres.start();
    await eventually(async () => (await readiness())[1] === 'Healthy');
    expect((await mandate.post('/oauth2/introspect', { token })).status).to.equal(503);
    // No decision has failed that the process could remember.
    expect((await readiness()).slice(0, 2)).to.deep.equal([200, 'Degraded']);
    expect((await readiness())[2]).to.match(
      /^Postgres found damaged pages \(checksums\), (?:once|\d+ times, last) at 2\d{3}-.*Z\. Requests that read them get 503. See docs\/operating\.md \("A page of Postgres is damaged"\)\.$/,
    );
    const condition = await openPostgresCondition(own.postgres.server.url('serving', DATABASE), capturedLog());
    const writing = await condition.writing();
    await condition.close();
    expect(writing?.damage?.count).to.be.greaterThan(0);

    await own.postgres.halt('fast');
    writeFileSync(file, whole);
    await own.postgres.start();
    await own.sql('select pg_stat_reset()');
    await eventually(async () => (await readiness())[1] === 'Healthy');
    expect(await readiness()).to.deep.equal(HEALTHY);
  });
}
