import { setTimeout as pause } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { connectTo } from '../../../../../adapters/storage/sqlite/worker/rpc.ts';
import { supervise } from '../../../../../adapters/storage/sqlite/worker/supervisor.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { type CapturedLog, capturedLog } from '../../../../support/captured-log.ts';
import { thrownBy } from '../../../../support/thrown-by.ts';
import { PATIENT_MS, servingWorker } from './started.ts';

describe('A supervised database worker', () => {
  let log: CapturedLog;
  /** The started workers, in order. */
  let workers: Worker[];
  /** The `workerData` with which the next workers start. */
  let beginnings: string[];
  beforeEach(() => {
    log = capturedLog();
    workers = [];
    beginnings = [];
  });

  const lasting = (restartAfterMs: number | undefined) =>
    supervise(
      () => {
        const worker = servingWorker(beginnings.shift());
        workers.push(worker);
        return connectTo(worker);
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

  it('is unavailable until it is restarted, and then answers', async () => {
    const thread = await lasting(1);
    const echo = (what: string) => thread.call('echo', [what], PATIENT_MS);
    expect(await thrownBy(thread.call('exit', [], PATIENT_MS))).to.be.instanceOf(StorageUnavailable);
    expect(await thrownBy(echo('between'))).to.be.instanceOf(StorageUnavailable);
    await until(ANEW);
    expect(await echo('after')).to.deep.equal(['after']);
    await thread.close();
    expect(logged()).to.deep.equal([DIED, ANEW]);
  });

  it('is restarted repeatedly while a new worker cannot open the database', async () => {
    const thread = await lasting(1);
    beginnings = ['cannot open', 'cannot open'];
    await workers.at(-1)?.terminate();
    await until(ANEW);
    expect(await thread.call('echo', ['after'], PATIENT_MS)).to.deep.equal(['after']);
    await thread.close();
    expect(logged()).to.deep.equal([DIED, NOT_YET, NOT_YET, ANEW]);
  });

  it('is not restarted when its data would be lost', async () => {
    const thread = await lasting(undefined);
    await workers.at(-1)?.terminate();
    await until(DIED);
    await pause(20);
    expect(workers).to.have.length(1);
    expect(await thrownBy(thread.call('echo', [], PATIENT_MS))).to.be.instanceOf(StorageUnavailable);
    await thread.close();
  });

  it('is not restarted when it is closed before the restart', async () => {
    const thread = await lasting(PATIENT_MS);
    await workers.at(-1)?.terminate();
    await until(DIED);
    await thread.close();
    expect(workers).to.have.length(1);
  });

  it('can be closed during a restart, and is then unavailable', async () => {
    const thread = await lasting(1);
    await workers.at(-1)?.terminate();
    await until(DIED);
    while (workers.length === 1) await pause(1);
    await thread.close();
    expect(workers).to.have.length(2);
    expect(await thrownBy(thread.call('echo', [], PATIENT_MS))).to.be.instanceOf(StorageUnavailable);
  });

  it('throws the error of a failed first start', async () => {
    beginnings = ['cannot open'];
    const thrown = await thrownBy(lasting(1));
    expect(thrown).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
    await pause(20);
    expect(workers).to.have.length(1);
  });
});
