import { expect } from 'chai';
import { type ConsoleService, startConsole } from '../../support/console/console-service.ts';
import { databases } from '../../support/databases.ts';

const TASKS = 10_000;
/** The requirement is a second. The first request also compiles the code. */
const LIMIT_MS = 1000;

for (const database of databases) {
  describe(`the screen Delegation with ${TASKS} live tasks on ${database.name}`, function () {
    this.timeout(120_000);
    let service: ConsoleService;

    before(async () => {
      service = await startConsole(database);
      const { mandate } = service;
      const now = mandate.clock.seconds();
      const time = (seconds: number) =>
        database.engine === 'sqlite' ? `${seconds * 1_000_000}` : `to_timestamp(${seconds})`;
      const numbers =
        database.engine === 'sqlite'
          ? `with recursive numbers (n) as (select 1 union all select n + 1 from numbers where n < ${TASKS}) `
          : '';
      const from = database.engine === 'sqlite' ? 'numbers' : `generate_series(1, ${TASKS}) as numbers (n)`;
      const digits = database.engine === 'sqlite' ? "printf('%026d', n)" : "lpad(n::text, 26, '0')";
      await mandate.sql(`${numbers}insert into tasks
        (task_id, agent_id, sponsor_key, sponsor, audience, scope, delegation_depth, created_at, expires_at)
        select 'task_' || ${digits}, 'agent-' || (n % 37), 'person-' || (n % 1500), 'person-' || (n % 1500),
          'https://server-' || (n % 11) || '.example', 'x:read x:write', 1, ${time(now)}, ${time(now + 3600)} from ${from}`);
      await mandate.sql(
        `insert into task_grants (grant_hash, task_id, scope, renewals) select task_id, task_id, scope, 0 from tasks`,
      );
    });
    after(() => service.stop());

    it('is drawn in under a second, as an overview', async () => {
      const viewer = await service.signedIn('viewer');
      await viewer.open('/delegation');
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) {
        const start = performance.now();
        const { status, text } = await viewer.open('/delegation');
        times.push(performance.now() - start);
        expect(status).to.equal(200);
        expect(text).to.include('<strong>10,000 live tasks</strong>').and.include('other people');
        expect([...text.matchAll(/<g class="node /g)].length).to.be.within(30, 60);
      }
      // The quickest: other tests run beside this one.
      expect(Math.min(...times), times.map(Math.round).join(', ')).to.be.below(LIMIT_MS);
    });
  });
}
