/** `mandate audit-export` as an operator runs it: directly, and by docs/examples/observability/export-ocsf.sh. */

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { instantFromMillis } from '../../domain/instant.ts';
import { ledgerEvents } from '../../domain/ledger/record.ts';
import { asProgram } from '../../scripts/from-source.ts';
import { runMandate } from '../support/cli-run.ts';
import { startCommand } from '../support/command-process.ts';
import { databasesByLength, type FreshDatabase, freshDatabase } from '../support/databases.ts';
import { NOON } from '../support/domain-fixtures.ts';
import { append, fullEntry, seal } from '../support/ledger/fill.ts';
import { sealRest, whileSealing } from '../support/ledger/sealing-beside.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { environmentOf } from '../support/mandate.ts';
import { faultsOf } from '../support/ocsf/schema.ts';
import type { Storage } from '../support/storage.ts';

const MAIN = new URL('../../composition/main.ts', import.meta.url);
const SCRIPT = fileURLToPath(new URL('../../docs/examples/observability/export-ocsf.sh', import.meta.url));
/** More records than a page has, and more bytes than a pipe holds. */
const RECORDS = 1_200;
const UNSEALED = 3;
/** Fewer, because pages make no difference to the script. */
const SCRIPTED = 60;

interface Event {
  readonly metadata: { readonly sequence: number; readonly event_code: string };
}

const eventsOf = (lines: string): readonly Event[] =>
  lines.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Event]));
const sequences = (lines: string) => eventsOf(lines).map(({ metadata }) => metadata.sequence);
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

for (const kind of databasesByLength) {
  describe(`audit-export on ${kind.name}`, function () {
    this.timeout(60_000);
    let key: SealingKey;
    let database: FreshDatabase;
    let storage: Storage;

    before(async () => {
      key = await makeSealingKey();
      database = await kind.fresh();
      storage = await database.open({ clock: { now: () => NOON } });
      await append(storage, RECORDS, NOON);
      await seal(storage, key.signer, NOON);
      await append(storage, UNSEALED, NOON, RECORDS);
    });
    after(async () => {
      await storage.close();
      await database.drop();
    });

    const exported = (...options: readonly string[]) =>
      runMandate(['audit-export', '--format', 'ocsf', ...options], database.settings);

    it('writes each sealed record of every kind as a line with a valid event', async () => {
      const { code, out, err } = await exported();
      expect([code, err]).to.deep.equal([0, '']);
      expect(sequences(out)).to.deep.equal(upTo(RECORDS));
      const events = eventsOf(out);
      expect(events.flatMap(faultsOf)).to.deep.equal([]);
      expect(new Set(events.map(({ metadata }) => metadata.event_code))).to.deep.equal(new Set(ledgerEvents));
    });

    it('exits with 4 and writes nothing if no record with the given number is sealed', async () => {
      for (const after of ['4711', String(RECORDS + UNSEALED)]) {
        const { code, out, err } = await exported('--after', after);
        expect([code, out]).to.deep.equal([4, '']);
        expect(err).to.match(new RegExp(`^mandate: The ledger has no sealed record with number ${after}, .*\\n$`));
      }
      expect((await exported('--after', String(RECORDS))).code).to.equal(0);
    });

    it('exits with 1 if its reader closes the pipe; the reader can continue after the last complete line', async () => {
      const { child, ended } = startCommand(['audit-export', '--format', 'ocsf'], database.settings);
      child.stdout?.once('data', () => child.stdout?.destroy());
      const { code, err, out } = await ended;
      expect(code).to.equal(1);
      expect(err).to.equal(
        'mandate: Standard output was closed, or could not be written: the export ends before the last record.\n',
      );
      // The last line may be incomplete. The line before says where to continue.
      const whole = sequences(out.slice(0, out.lastIndexOf('\n') + 1));
      const rest = sequences((await exported('--after', String(whole.at(-1) ?? 0))).out);
      expect([...whole, ...rest]).to.deep.equal(upTo(RECORDS));
    });
  });
}

describe('audit-export, run by export-ocsf.sh', function () {
  this.timeout(60_000);
  let database: FreshDatabase;
  let storage: Storage;
  let folder: string;

  before(async () => {
    const key = await makeSealingKey();
    database = await freshDatabase('sqlite');
    storage = await database.open({ clock: { now: () => NOON } });
    await append(storage, SCRIPTED, NOON);
    await seal(storage, key.signer, NOON);
  });
  after(async () => {
    await storage.close();
    await database.drop();
  });
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-ocsf-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** @param command runs in place of `mandate` */
  function script(command = [process.execPath, ...asProgram(MAIN)].join(' ')): Promise<number> {
    const env = { PATH: process.env.PATH, ...environmentOf(database.settings), MANDATE_COMMAND: command };
    return new Promise((resolve) => {
      execFile('sh', [SCRIPT, folder], { env }, (error) => resolve(error === null ? 0 : Number(error.code)));
    });
  }
  const files = () => readdirSync(folder).filter((name) => name.endsWith('.ndjson'));
  const all = () =>
    files()
      .sort()
      .flatMap((name) => sequences(readFileSync(join(folder, name), 'utf8')));

  it('writes a file with the new records, and writes no file if there are none', async () => {
    expect([await script(), await script()]).to.deep.equal([0, 0]);
    expect(files()).to.deep.equal(['mandate-0000000000000000.ndjson']);
    expect(all()).to.deep.equal(upTo(SCRIPTED));
    expect(readFileSync(join(folder, 'position'), 'utf8')).to.equal(`${SCRIPTED}\n`);
  });

  it('repeats no record and skips none after a run that was killed at any step', async () => {
    // In the middle of the export: half a line, and no file of events.
    const first = (await runMandate(['audit-export', '--format', 'ocsf'], database.settings)).out
      .split('\n')
      .slice(0, 40)
      .join('\n');
    const cut = join(folder, 'cut.ndjson.txt');
    writeFileSync(cut, first.slice(0, -20));
    writeFileSync(join(folder, 'fails.sh'), `cat '${cut}'; exit 1\n`);
    expect(await script(`sh ${join(folder, 'fails.sh')}`)).to.equal(1);
    expect(files()).to.deep.equal([]);
    // A run that was killed between its two renames has left the file of events, and no position.
    writeFileSync(join(folder, 'mandate-0000000000000000.ndjson'), `${first}\n`);
    for (let run = 0; run < 3; run += 1) expect(await script()).to.equal(0);
    expect(all()).to.deep.equal(upTo(SCRIPTED));
    expect(files()).to.have.length(2);
  });

  it('exits with 4 and changes nothing if the ledger does not have the position, as in a restored backup', async () => {
    writeFileSync(join(folder, 'position'), '4711\n');
    expect(await script()).to.equal(4);
    expect(files()).to.deep.equal([]);
    expect(readFileSync(join(folder, 'position'), 'utf8')).to.equal('4711\n');
  });
});

describe('audit-export of a ledger with archived months', function () {
  this.timeout(60_000);

  it('exits with 3 and names the last archived sequence number, unless the export begins after it', async () => {
    const key = await makeSealingKey();
    const database = await freshDatabase('postgres');
    const storage = await database.open({ clock: { now: () => NOON } });
    const archive = mkdtempSync(join(tmpdir(), 'mandate-archive-'));
    try {
      for (const month of ['2026-09', '2026-10']) {
        const at = instantFromMillis(Date.parse(`${month}-17T10:00:00Z`));
        for (let index = 0; index < 2; index += 1) await storage.ledger.append(fullEntry(index, at));
        await seal(storage, key.signer, at);
      }
      const settings = { ...database.settings, 'Service:Signing:Keys:0:Pem': key.pem };
      const line = ['audit-archive', '--before', '2026-10', '--to', archive];
      const archiving = await whileSealing(
        () => sealRest(storage, key.signer, NOON),
        () => runMandate(line, settings),
      );
      expect([archiving.code, archiving.err]).to.deep.equal([0, '']);

      const lacking = await runMandate(['audit-export', '--format', 'ocsf', '--after', '1'], database.settings);
      expect([lacking.code, lacking.err]).to.deep.equal([
        3,
        'mandate: Records up to number 2 have been archived: this export may lack some after number 1. The files of audit-archive have them.\n',
      ]);
      // The last one is the record of the archive.
      expect(sequences(lacking.out)).to.deep.equal([3, 4, 5]);
      const whole = await runMandate(['audit-export', '--format', 'ocsf', '--after', '2'], database.settings);
      expect([whole.code, sequences(whole.out)]).to.deep.equal([0, [3, 4, 5]]);
    } finally {
      await storage.close();
      await database.drop();
      rmSync(archive, { recursive: true, force: true });
    }
  });
});
