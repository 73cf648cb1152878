/** `mandate audit-verify` never changes the SQLite file that it verifies. */

import { chmodSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { openHandle } from '../../adapters/storage/sqlite/handle.ts';
import { formatMark } from '../../domain/ledger/checkpoint.ts';
import { runMandate } from '../support/cli-run.ts';
import { runCommand, startCommand } from '../support/command-process.ts';
import { type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { append, seal } from '../support/ledger/fill.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import type { Storage } from '../support/storage.ts';

/** Runs a command without root's capabilities to read and write any file. The files' permissions hold for it. */
const BY_PERMISSIONS =
  process.getuid?.() === 0 ? 'exec setpriv --bounding-set=-dac_override,-dac_read_search "$@"' : undefined;

describe('audit-verify on a SQLite file', function () {
  this.timeout(60_000);
  let directory: string;
  let key: SealingKey;
  let database: FreshDatabase;
  let storage: Storage;
  let path: string;

  before(async () => {
    key = await makeSealingKey();
  });
  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mandate-files-'));
    database = await freshDatabase('sqlite');
    path = String(database.settings['Service:Database:Path']);
    storage = await database.open();
    await append(storage, 5, NOON);
    await seal(storage, key.signer, NOON);
  });
  afterEach(async () => {
    await storage.close();
    await database.drop();
    chmodSync(directory, 0o755);
    rmSync(directory, { recursive: true, force: true });
  });

  const settingsFor = (file: string) => ({
    'Service:Database:Provider': 'sqlite',
    'Service:Database:Path': file,
    'Service:Signing:Keys:0:Pem': key.pem,
  });
  const verify = (file: string) => runMandate(['audit-verify'], settingsFor(file));
  const sentence = (what: string) => `mandate: Service:Database:Path (Service__Database__Path) names ${what}\n`;

  it('verifies a ledger while another process appends and seals records', async () => {
    const { ended } = startCommand(['audit-verify'], settingsFor(path));
    let done = false;
    void ended.then(() => {
      done = true;
    });
    for (let first = 5; !done; first += 5) {
      await append(storage, 5, NOON, first);
      await seal(storage, key.signer, NOON);
    }
    const { code, out, err } = await ended;
    expect({ code, err }).to.deep.equal({ code: 0, err: '' });
    expect(out).to.match(/^The seal is intact: \d+ checkpoints? and \d+ records verified\.\n/);
  });

  it('changes the file neither of a stopped service nor of a crashed one', async () => {
    const crashed = join(directory, 'crashed.sqlite');
    cpSync(path, crashed);
    cpSync(`${path}-wal`, `${crashed}-wal`);
    const mark = (await storage.checkpoints.page(0, 10)).map(formatMark).at(-1);
    await storage.close();
    for (const file of [path, crashed]) {
      const before = readFileSync(file);
      const { code, out } = await verify(file);
      expect({ code, last: out.split('\n').at(-2) }).to.deep.equal({ code: 0, last: mark });
      expect(readFileSync(file).equals(before), file).to.equal(true);
    }
    storage = await database.open();
    expect((await storage.readiness.check()).status).to.equal('Healthy');
  });

  it('exits with 1 for a file that is not a ledger, and changes no file', async () => {
    const foreign = openHandle(join(directory, 'foreign'));
    foreign.exec(
      'create table schema_migrations (version text); create table ledger (x); insert into ledger values (1)',
    );
    foreign.close();
    writeFileSync(join(directory, 'empty'), '');
    writeFileSync(join(directory, 'text'), 'This is not a database, and longer than the header of one. '.repeat(20));
    mkdirSync(join(directory, 'folder'));
    for (const [name, what] of [
      ['foreign', 'a file that holds no ledger: it is empty, or the database of something else.'],
      ['empty', 'a file that holds no ledger: it is empty, or the database of something else.'],
      ['text', 'a file that is no SQLite database.'],
    ] as const) {
      const file = join(directory, name);
      const before = readFileSync(file);
      expect(await verify(file), name).to.deep.equal({ code: 1, out: '', err: sentence(what) });
      expect(readFileSync(file).equals(before), name).to.equal(true);
    }
    for (const name of ['folder', 'none'])
      expect(await verify(join(directory, name))).to.deep.equal({ code: 1, out: '', err: sentence('no file.') });
    expect(readdirSync(directory).toSorted()).to.deep.equal(['empty', 'folder', 'foreign', 'text']);
  });

  it('suggests a copy of the file if SQLite cannot read the file in its directory', async () => {
    await storage.close();
    const file = join(directory, 'mandate.sqlite');
    cpSync(path, file);
    chmodSync(file, 0o644);
    chmodSync(directory, 0o555);
    const { code, out, err } = await runCommand(['audit-verify'], settingsFor(file), BY_PERMISSIONS);
    expect({ code, out }).to.deep.equal({ code: 1, out: '' });
    expect(err).to.include(sentence('a file that cannot be read where it is').trimEnd());
    expect(err).to.match(
      /: copy it, and the -wal beside it if there is one, to a directory that this user may write to\.\n$/,
    );
    chmodSync(file, 0);
    const closed = await runCommand(['audit-verify'], settingsFor(file), BY_PERMISSIONS);
    expect(closed).to.deep.equal({ code: 1, out: '', err: sentence('a file that this user may not read.') });
    storage = await database.open();
  });
});
