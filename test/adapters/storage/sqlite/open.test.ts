import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect } from 'chai';
import { RESTART_PAUSE_MS } from '../../../../adapters/storage/sqlite/limits.ts';
import { openSqlite } from '../../../../adapters/storage/sqlite/open.ts';
import type { DatabaseMethods } from '../../../../adapters/storage/sqlite/worker/main.ts';
import { connectTo } from '../../../../adapters/storage/sqlite/worker/rpc.ts';
import { StorageUnavailable } from '../../../../application/ports/decisions.ts';
import { registeredAgent } from '../../../contract/scene.ts';
import { capturedLog } from '../../../support/captured-log.ts';
import { NOON } from '../../../support/domain-fixtures.ts';
import { withMethods } from '../../../support/storage.ts';

const BEGINNING = new URL('../../../../adapters/storage/sqlite/worker/main.ts', import.meta.url);

describe('opening a SQLite database', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-open-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const open = (path: string) => openSqlite({ path }, { clock: { now: () => NOON }, log: capturedLog() });

  it('makes the file when there is none, but no schema', async () => {
    const storage = await open(join(directory, 'new.sqlite'));
    expect(await storage.schemaStatus()).to.equal('absent');
    await storage.close();
  });

  it('refuses a path where there can be no database', async () => {
    mkdirSync(join(directory, 'a-directory'));
    writeFileSync(join(directory, 'a-text'), 'This is not a database, and longer than the header of one. '.repeat(20));
    for (const path of ['a-directory', 'a-text', 'missing/mandate.sqlite']) {
      const thrown = await open(join(directory, path)).catch((error: unknown) => error);
      expect(thrown, path).to.be.instanceOf(Error);
    }
  });

  it('refuses a database that cannot use write-ahead logging, unless it is meant to be in memory', async () => {
    // An empty path is SQLite's own temporary file.
    const thrown = await open('').catch((error: unknown) => error);
    expect(thrown).to.be.instanceOf(Error);
    expect(String((thrown as Error).cause)).to.include('write-ahead logging');
    const storage = await open(':memory:');
    await storage.close();
  });

  describe('whose thread dies', () => {
    const opened = async (path: string) => {
      const workers: Worker[] = [];
      const log = capturedLog();
      const product = await openSqlite({ path }, { clock: { now: () => NOON }, log }, () => {
        const worker = new Worker(BEGINNING, { workerData: { path } });
        workers.push(worker);
        return connectTo<DatabaseMethods>(worker);
      });
      const storage = withMethods(product);
      await storage.migrate();
      return { storage, log, die: () => workers.at(-1)?.terminate() };
    };
    const isUnavailable = async (asked: Promise<unknown>) => {
      const thrown = await asked.catch((error: unknown) => error);
      expect(thrown).to.be.instanceOf(StorageUnavailable);
    };

    it('is unavailable and not ready until it is opened anew, with all that was answered', async () => {
      const { storage, log, die } = await opened(join(directory, 'lasting.sqlite'));
      const agent = await registeredAgent(storage);
      expect((await storage.readiness.check()).status).to.equal('Healthy');
      const asking = [storage.agents.find(agent.agentId), storage.schemaStatus(), storage.migrate()];
      await Promise.all([die(), ...asking.map(isUnavailable)]);
      await isUnavailable(storage.agents.find(agent.agentId));
      expect(await storage.readiness.check()).to.deep.equal({
        status: 'Unhealthy',
        detail: 'SQLite did not answer.',
      });
      while ((await storage.readiness.check()).status !== 'Healthy') await pause(20);
      expect(await storage.agents.find(agent.agentId)).to.deep.equal(agent);
      expect(log.lines.map((line) => JSON.parse(line).level)).to.deep.equal(['error', 'info']);
      await storage.close();
    });

    it('stays unavailable when it was in memory: one that has forgotten what was revoked must not answer', async () => {
      const { storage, die } = await opened(':memory:');
      await die();
      await pause(RESTART_PAUSE_MS * 1.5);
      await isUnavailable(storage.schemaStatus());
      expect((await storage.readiness.check()).status).to.equal('Unhealthy');
      await storage.close();
    });
  });
});
