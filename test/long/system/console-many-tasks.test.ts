import { expect } from 'chai';
import { type ConsoleService, startConsole } from '../../support/console/console-service.ts';
import { insertDenials, insertLiveTasks } from '../../support/console/many-tasks.ts';
import { databasesByLength } from '../../support/databases.ts';

const TASKS = 10_000;
const DENIALS = 5_100;
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
        expect(text).to.include('<a href="/tasks">10,000</a>').and.include('Denials a minute');
      }
      expect(Math.min(...times), times.map(Math.round).join(', ')).to.be.below(LIMIT_MS);
    });

    it(`counts ${DENIALS} denials a minute truly, in each of the ten minutes, in under a second of CPU time`, async () => {
      const auditor = await service.signedIn('auditor');
      // When a minute is over, the page has other ten minutes.
      service.mandate.clock.standStill();
      await insertDenials(service.mandate, database, DENIALS);
      await auditor.open('/now');
      const times: number[] = [];
      for (let run = 0; run < 5; run += 1) {
        const start = cpuMs();
        const { text } = await auditor.open('/now');
        times.push(cpuMs() - start);
        const figuresOf = (reason: string) => {
          const row = new RegExp(`<code>${reason}</code>.*?</tr>`).exec(text)?.[0] ?? '';
          return [...row.matchAll(/<td class="number">(?:<a [^>]*>)?([^<]*)/g)].map(([, figure]) => figure);
        };
        const perMinute = (count: number) => Array.from({ length: 10 }, () => count.toLocaleString('en'));
        expect(figuresOf('scope_widened')).to.deep.equal(['34,000', ...perMinute(3400)]);
        expect(figuresOf('task_revoked')).to.deep.equal(['17,000', ...perMinute(1700)]);
        expect(text).to.match(/>34,000<\/a> <a href="\/agents\/fleet-117">/);
        expect(text).not.to.include('more denials than are counted');
      }
      expect(Math.min(...times), times.map(Math.round).join(', ')).to.be.below(LIMIT_MS);
    });
  });
}
