import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openSqlite } from '../../../../adapters/persistence/sqlite/open.ts';
import { capturedLog } from '../../../support/captured-log.ts';

describe('opening a SQLite database', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-open-'));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  const open = (path: string) => openSqlite({ path }, { log: capturedLog() });

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
});
