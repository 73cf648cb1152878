import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { connectTo } from '../../../../../adapters/storage/sqlite/worker/rpc.ts';
import { supervise } from '../../../../../adapters/storage/sqlite/worker/supervisor.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { type CapturedLog, capturedLog } from '../../../../support/captured-log.ts';
import type { Serving } from './serving-thread.ts';
import { PATIENT_MS, servingWorker, thrownBy } from './started.ts';

describe('a database thread that lasts', () => {
  let log: CapturedLog;
  /** Those that were started, the last one last. */
  let workers: Worker[];
  /** What the next ones are to begin with. */
  let beginnings: string[];
  beforeEach(() => {
    log = capturedLog();
    workers = [];
    beginnings = [];
  });

  const lasting = (restartAfterMs: number | undefined) =>
    supervise<Serving>(
      () => {
        const worker = servingWorker(beginnings.shift());
        workers.push(worker);
        return connectTo<Serving>(worker);
      },
      { log, restartAfterMs },
    );
  const logged = () => log.lines.map((line) => `${JSON.parse(line).level}: ${JSON.parse(line).message}`);
  const until = async (line: string) => {
    while (!logged().includes(line)) await pause(5);
  };
  const DIED = 'error: the database thread died; its unanswered calls are refused';
  const NOT_YET = 'error: the database thread could not be restarted';
  const ANEW = 'info: the database thread was restarted';

  it('refuses as unavailable while there is none, then answers again', async () => {
    const thread = await lasting(1);
    const echo = (what: string) => thread.call('echo', [what], PATIENT_MS);
    expect(await thrownBy(thread.call('exit', [], PATIENT_MS))).to.be.instanceOf(StorageUnavailable);
    expect(await thrownBy(echo('between'))).to.be.instanceOf(StorageUnavailable);
    await until(ANEW);
    expect(await echo('after')).to.deep.equal(['after']);
    await thread.close();
    expect(logged()).to.deep.equal([DIED, ANEW]);
  });

  it('goes on trying while a new one cannot open the database', async () => {
    const thread = await lasting(1);
    beginnings = ['cannot open', 'cannot open'];
    await workers.at(-1)?.terminate();
    await until(ANEW);
    expect(await thread.call('echo', ['after'], PATIENT_MS)).to.deep.equal(['after']);
    await thread.close();
    expect(logged()).to.deep.equal([DIED, NOT_YET, NOT_YET, ANEW]);
  });

  it('does not start anew what would have lost its data', async () => {
    const thread = await lasting(undefined);
    await workers.at(-1)?.terminate();
    await until(DIED);
    await pause(20);
    expect(workers).to.have.length(1);
    expect(await thrownBy(thread.call('echo', [], PATIENT_MS))).to.be.instanceOf(StorageUnavailable);
    await thread.close();
  });

  it('is closed between two of them without a new one', async () => {
    const thread = await lasting(PATIENT_MS);
    await workers.at(-1)?.terminate();
    await until(DIED);
    await thread.close();
    expect(workers).to.have.length(1);
  });

  it('closes one that is just being started', async () => {
    const thread = await lasting(1);
    await workers.at(-1)?.terminate();
    await until(DIED);
    while (workers.length === 1) await pause(1);
    await thread.close();
    expect(workers).to.have.length(2);
    expect(await thrownBy(thread.call('echo', [], PATIENT_MS))).to.be.instanceOf(StorageUnavailable);
  });

  it('throws what keeps the first from opening', async () => {
    beginnings = ['cannot open'];
    const thrown = await thrownBy(lasting(1));
    expect(thrown).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
    await pause(20);
    expect(workers).to.have.length(1);
  });
});
