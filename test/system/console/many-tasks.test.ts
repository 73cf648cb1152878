import { expect } from 'chai';
import { type ConsoleService, startConsole } from '../../support/console/console-service.ts';
import { insertLiveTasks } from '../../support/console/many-tasks.ts';
import { databasesByLength } from '../../support/databases.ts';

const TASKS = 10_000;
/**
 * The requirement is a second on an idle machine. Other tests run beside this one, so the CPU time of this process is
 * compared: service and browser, all threads. The first request also compiles the code.
 */
const LIMIT_MS = 1000;

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

for (const database of databasesByLength) {
  describe(`the console with ${TASKS} live tasks on ${database.name}`, function () {
    this.timeout(120_000);
    let service: ConsoleService;

    before(async () => {
      service = await startConsole(database);
      await insertLiveTasks(service.mandate, database, TASKS);
    });
    after(() => service.stop());

    it('draws Delegation in under a second of CPU time, as an overview', async () => {
      const viewer = await service.signedIn('viewer');
      await viewer.open('/delegation');
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) {
        const start = cpuMs();
        const { status, text } = await viewer.open('/delegation');
        times.push(cpuMs() - start);
        expect(status).to.equal(200);
        expect(text).to.include('<strong>10,000 live tasks</strong>').and.include('other people');
        expect([...text.matchAll(/<g class="node /g)].length).to.be.within(30, 60);
      }
      expect(Math.min(...times), times.map(Math.round).join(', ')).to.be.below(LIMIT_MS);
    });

    it('shows Now in under a second of CPU time, also to an auditor', async () => {
      const auditor = await service.signedIn('auditor');
      await auditor.open('/');
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) {
        const start = cpuMs();
        const { status, text } = await auditor.open('/');
        times.push(cpuMs() - start);
        expect(status).to.equal(200);
        expect(text).to.include('<p class="value">10,000</p>').and.include('Denials a minute');
      }
      expect(Math.min(...times), times.map(Math.round).join(', ')).to.be.below(LIMIT_MS);
    });
  });
}
