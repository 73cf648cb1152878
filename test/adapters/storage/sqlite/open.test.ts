import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { RESTART_PAUSE_MS } from '../../../../adapters/storage/sqlite/limits.ts';
import { openSqlite } from '../../../../adapters/storage/sqlite/open.ts';
import { REPLACED } from '../../../../adapters/storage/sqlite/opened-file.ts';
import { connectTo } from '../../../../adapters/storage/sqlite/worker/rpc.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { registeredAgent } from '../../../contract/storage-fixtures.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { eventually } from '../../../support/eventually.ts';
import { withMethods } from '../../../support/storage.ts';

const BEGINNING = new URL('../../../../adapters/storage/sqlite/worker/main.ts', import.meta.url);

describe('A SQLite database', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-open-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const open = (path: string) => openSqlite({ path }, { clock: { now: () => NOON }, log: capturedLog() });

  it('is created without a schema when its file is absent', async () => {
    const storage = await open(join(directory, 'new.sqlite'));
    expect(await storage.schemaStatus()).to.equal('absent');
    await storage.close();
  });

  it('is not opened at a path that cannot hold a database', async () => {
    mkdirSync(join(directory, 'a-directory'));
    writeFileSync(join(directory, 'a-text'), 'This is not a database, and longer than the header of one. '.repeat(20));
    for (const path of ['a-directory', 'a-text', 'missing/mandate.sqlite']) {
      const thrown = await open(join(directory, path)).catch((error: unknown) => error);
      expect(thrown, path).to.be.instanceOf(Error);
    }
  });

  it('is not opened without write-ahead logging, except in memory', async () => {
    // SQLite opens a temporary file for an empty path.
    const thrown = await open('').catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(Error);
    expect(String((thrown as Error).cause)).to.include('write-ahead logging');
    const storage = await open(':memory:');
    await storage.close();
  });

  describe('whose worker thread has exited', () => {
    const opened = async (path: string) => {
      const workers: Worker[] = [];
      const log = capturedLog();
      const product = await openSqlite({ path }, { clock: { now: () => NOON }, log }, (options) => {
        const worker = new Worker(BEGINNING, { workerData: options });
        workers.push(worker);
        return connectTo(worker);
      });
      const storage = withMethods(product);
      await storage.migrate();
      return { storage, log, die: () => workers.at(-1)?.terminate() };
    };
    const isUnavailable = async (asked: Promise<unknown>) => {
      const thrown = await asked.catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(StorageUnavailable);
    };

    it('is unavailable and not ready until it is opened again with all committed rows', async () => {
      const { storage, log, die } = await opened(join(directory, 'lasting.sqlite'));
      const agent = await registeredAgent(storage);
      expect((await storage.readiness.check()).status).to.equal('Healthy');
      const asking = [storage.agents.find(agent.agentId), storage.schemaStatus(), storage.migrate()];
      await Promise.all([die(), ...asking.map(isUnavailable)]);
      await isUnavailable(storage.agents.find(agent.agentId));
      const unready = { status: 'Unhealthy', detail: 'SQLite did not answer.' };
      expect(await storage.readiness.check()).to.deep.equal(unready);
      while ((await storage.readiness.check()).status !== 'Healthy') await pause(20);
      expect(await storage.agents.find(agent.agentId)).to.deep.equal(agent);
      expect(log.lines.map((line) => JSON.parse(line).level)).to.deep.equal(['error', 'info']);
      await storage.close();
    });

    it('opens no other file that was put at its path, nor makes a missing one, and its readiness says why', async () => {
      const path = join(directory, 'replaced.sqlite');
      const { storage, log, die } = await opened(path);
      // It is made while the first file exists: a file system gives a later one the number of the removed file.
      const another = join(directory, 'another.sqlite');
      const other = withMethods(await open(another));
      await other.migrate();
      await other.close();
      for (const ending of ['', '-wal', '-shm']) rmSync(`${path}${ending}`);
      await die();
      await eventually(() => log.lines.some((line) => line.includes('could not be restarted')));
      expect(existsSync(path)).to.equal(false);
      renameSync(another, path);
      log.lines.length = 0;
      await eventually(() => log.lines.some((line) => line.includes('could not be restarted')));
      await isUnavailable(registeredAgent(storage));
      expect(await storage.readiness.check()).to.deep.equal(REPLACED);
      await storage.close();
    });

    it('stays unavailable in memory, because a new database would not contain the revoked tasks', async () => {
      const { storage, die } = await opened(':memory:');
      await die();
      await pause(RESTART_PAUSE_MS * 1.5);
      await isUnavailable(storage.schemaStatus());
      expect((await storage.readiness.check()).status).to.equal('Unhealthy');
      await storage.close();
    });
  });
});
