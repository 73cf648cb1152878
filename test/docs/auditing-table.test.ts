/**
 * The table of docs/auditing.md, "What an owner of the database can do". Each cell is made here: the change, one pass of the
 * service, then `audit-verify`. The page and the outcomes have to agree.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { auditVerify } from '../../composition/commands/audit-verify.ts';
import { formatMark, parseMark } from '../../domain/ledger/checkpoint.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type TestDatabase } from '../support/databases.ts';
import { eventually } from '../support/eventually.ts';
import { sealAnew } from '../support/ledger/resealing.ts';
import { makeSealingKey, type SealingKey } from '../support/ledger/sealing-key.ts';
import { startTampering, type Tampering } from '../support/ledger/tampering.ts';
import { sampleByLength } from '../support/length.ts';
import { type ServedWitness, servedWitness } from '../support/log/served-witness.ts';
import { environmentOf, type Mandate, startMandate } from '../support/mandate.ts';
import type { Storage } from '../support/storage.ts';
import { logKeySettings } from '../support/transparency-log.ts';

const page = await readFile(new URL('../../docs/auditing.md', import.meta.url), 'utf8');

const COLUMNS = ['nothing kept', 'a mark kept', 'the key set kept', 'with a log', 'with a log and a witness'] as const;
const KEPT_LOG = ['log_state', 'log_tiles', 'log_cosignatures', 'log_problems'];

/** A ledger of two records in each of three checkpoints, and one unsealed record. */
interface Kept {
  readonly mandate: Mandate;
  readonly storage: Storage;
  readonly tampering: Tampering;
  readonly engine: TestDatabase['engine'];
  readonly hasLog: boolean;
  /** The service's real key. */
  readonly key: SealingKey;
}

type Restart =
  | 'running'
  | 'restarted'
  /** The process notices that the newest record is gone, and decides nothing more. */
  | 'halted';
/** The numbers of its records. With a log the first ones are those of its keys. */
const IN_SECOND = (column: 'first_seq' | 'last_seq') => `(select ${column} from checkpoints where checkpoint_id = 2)`;
const alter = ({ tampering }: Kept) =>
  tampering.sql(`update ledger set reason = 'harmless' where seq = ${IN_SECOND('first_seq')}`);
const remove = ({ tampering }: Kept) => tampering.sql(`delete from ledger where seq = ${IN_SECOND('last_seq')}`);
const changeUnsealed = ({ tampering }: Kept) =>
  tampering.sql("update ledger set reason = 'other' where seq = (select max(seq) from ledger)");
const insert = ({ mandate, storage }: Kept) =>
  storage.ledger.append({ at: mandate.clock.now(), event: 'token.denied', decision: 'deny', sponsor: 'ada' });
const removeCheckpoints = ({ tampering }: Kept) => tampering.sql('delete from checkpoints');
const cutOff = ({ tampering }: Kept) =>
  tampering.sql(
    'delete from ledger where seq > (select last_seq from checkpoints where checkpoint_id = 2)',
    'delete from checkpoints where checkpoint_id = 3',
  );

async function signAnewWithOwnKey({ mandate, storage, tampering, engine, hasLog }: Kept): Promise<void> {
  const own = await makeSealingKey();
  const jwk = JSON.stringify({ ...own.jwks.keys[0], kid: 'old-2025' });
  const since = engine === 'sqlite' ? '1' : "'2025-01-01Z'";
  if (hasLog) {
    await tampering.sql(
      `insert into log_keys (use, kid, thumbprint, public_key, active_from, active_to)
        values ('checkpoint', 'old-2025', '${own.signer.kid}', '${jwk}', ${since}, ${since})`,
    );
  }
  await storage.ledger.append({
    at: mandate.clock.now(),
    event: 'key.retired',
    decision: 'allow',
    reason: 'checkpoint_key',
    detail: own.signer.kid,
  });
  await sealAnew(storage, tampering, { ...own.signer, kid: 'old-2025' });
}

async function signSecondWithOwnKey({ storage, tampering }: Kept): Promise<void> {
  await sealAnew(storage, tampering, (await makeSealingKey()).signer, 2, 2);
}

const signAnewWithRealKey = ({ storage, tampering, key }: Kept) => sealAnew(storage, tampering, key.signer);
const emptyLog = ({ tampering }: Kept) => tampering.sql(...KEPT_LOG.map((table) => `delete from ${table}`));

async function restoreBackup({ tampering }: Kept): Promise<void> {
  await tampering.undo();
  await tampering.sql(
    ...KEPT_LOG.flatMap((table) => [`delete from ${table}`, `insert into ${table} select * from ${table}_kept`]),
  );
}

async function markAsArchived({ tampering, engine }: Kept): Promise<void> {
  const at = engine === 'sqlite' ? '1' : 'now()';
  await tampering.sql(
    `insert into ledger_archives
        (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
      select '2026-01', ${at}, ${at}, 1, max(checkpoint_id), 1, max(last_seq) from checkpoints`,
    'delete from ledger where seq <= (select max(last_seq) from checkpoints)',
  );
}

/** No checkpoint's range has it. */
const insertOutside = ({ tampering }: Kept) =>
  tampering.sql(
    "insert into ledger (seq, ts, event, sponsor, decision) select -9007199254740995, ts, event, 'ceo', 'allow' from ledger where seq = 1",
  );

/** The row of an archive that never was. The other record of the checkpoint is still there. */
const listAsArchived = ({ tampering, engine }: Kept) => {
  const at = engine === 'sqlite' ? '1' : "'2026-02-01Z'";
  return tampering.sql(
    `insert into ledger_archives
        (month, archived_before, archived_at, first_checkpoint, last_checkpoint, first_seq, last_seq)
      select '2026-01', ${at}, ${at}, 1, max(checkpoint_id), 1, max(last_seq) from checkpoints`,
  );
};

const changeAll = ({ tampering }: Kept) => tampering.sql("update ledger set reason = 'harmless'");

/** By the first cell of each row. */
const CHANGES: Readonly<Record<string, readonly [Restart, ...((kept: Kept) => Promise<unknown>)[]]>> = {
  Nothing: ['running'],
  'A sealed record changed': ['running', alter],
  'A sealed record deleted': ['running', remove],
  'Records inserted, an unsealed record changed': ['running', changeUnsealed, insert],
  'A record inserted with a number below 1': ['running', insertOutside],
  'Sealed records deleted, and marked as archived': ['running', markAsArchived],
  'A sealed record changed, the other deleted, and all marked as archived': ['running', alter, remove, listAsArchived],
  'The end cut off, with its checkpoint': ['halted', cutOff],
  'The end cut off; service restarted': ['restarted', cutOff],
  'Records rewritten, all checkpoints deleted': ['running', alter, remove, removeCheckpoints],
  'Records rewritten, all checkpoints deleted; service restarted': ['restarted', alter, remove, removeCheckpoints],
  'Own key: records rewritten, all checkpoints signed anew with a key of the owner, which a record names': [
    ...(['running', alter, remove, signAnewWithOwnKey] as const),
  ],
  'Own key, and the log emptied; service restarted': ['restarted', alter, remove, signAnewWithOwnKey, emptyLog],
  'Own key for checkpoint 2 alone, and the log emptied; service restarted': [
    ...(['restarted', alter, signSecondWithOwnKey, emptyLog] as const),
  ],
  'Real key: records rewritten, all checkpoints signed anew with a copy of the real key': [
    ...(['running', alter, remove, signAnewWithRealKey] as const),
  ],
  'Real key; service restarted': ['restarted', alter, remove, signAnewWithRealKey],
  'Real key, records of the marked checkpoint too; service restarted': ['restarted', changeAll, signAnewWithRealKey],
  'Real key, and the log emptied; service restarted': ['restarted', alter, remove, signAnewWithRealKey, emptyLog],
  'A backup restored; service restarted': ['restarted', restoreBackup],
};

type Setup = 'without' | 'log' | 'witness';

interface Outcome {
  /** The exit code and the first line of `audit-verify` with these arguments. */
  verify(marks: readonly string[], jwks?: string): Promise<string>;
  /** The mark that an auditor kept before the change, and the file with the key set. */
  readonly mark: string;
  readonly jwks: string;
  /** The checks of `/readyz` that are not Healthy. */
  readonly readiness: string;
  stop(): Promise<void>;
}

async function outcomeOf(database: TestDatabase, change: keyof typeof CHANGES, setup: Setup): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-table-'));
  const key = await makeSealingKey();
  const fresh = await database.fresh();
  const witness = setup === 'witness' ? await servedWitness('auditor.test/w') : undefined;
  const signing = { 'Service:Signing:Keys:0:Pem': key.pem };
  const settings = { ...signing, ...(setup === 'without' ? {} : logSettings(witness)) };
  let mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings });
  if (witness !== undefined) await watch(mandate, witness);
  const storage = await fresh.open();
  const outside = await connectOutside(fresh, 'owner');
  try {
    for (let checkpoint = 1; checkpoint <= 2; checkpoint += 1) await sealTwo(mandate);
    // The backup of the last row: everything until here.
    const tampering = await startTampering(outside, database.engine);
    await tampering.sql(...KEPT_LOG.map((table) => `create table ${table}_kept as select * from ${table}`));
    await sealTwo(mandate);
    const newest = await storage.checkpoints.newest();
    if (newest === undefined) throw new Error('nothing was sealed');
    const jwks = join(folder, 'jwks.json');
    writeFileSync(jwks, (await mandate.get('/.well-known/jwks.json')).text);
    await mandate.block('unsealed', 'disabled');

    const [restart, ...steps] = CHANGES[change] ?? ['running'];
    const kept = { mandate, storage, tampering, engine: database.engine, hasLog: setup !== 'without', key };
    for (const step of steps) await step(kept);
    if (restart === 'restarted') {
      const restarted = await mandate.another({});
      const first = mandate;
      mandate = { ...restarted, stop: async () => void (await Promise.all([restarted.stop(), first.stop()])) };
    }
    if (restart === 'halted') await eventually(async () => (await mandate.get('/readyz')).status === 503, 50);
    else {
      await mandate.block('later', 'disabled');
      await passOf(mandate);
    }
    const readiness = await problemsOf(mandate);
    return {
      mark: formatMark(newest),
      jwks,
      readiness,
      verify: (marks, path) => verifyLedgerOf(fresh, path === undefined ? signing : {}, marks, path),
      async stop() {
        await outside.close();
        await storage.close();
        await mandate.stop();
        await witness?.close();
        rmSync(folder, { recursive: true });
      },
    };
  } catch (error) {
    await mandate.stop();
    throw error;
  }
}

function logSettings(witness: ServedWitness | undefined): Readonly<Record<string, string>> {
  const log = { ...logKeySettings(), 'Service:Audit:Log:Public': 'true' };
  if (witness === undefined) return log;
  const { url, vkey } = witness;
  return { ...log, 'Service:Audit:Log:Witnesses:0:Url': url, 'Service:Audit:Log:Witnesses:0:VKey': vkey };
}

async function watch(mandate: Mandate, witness: ServedWitness): Promise<void> {
  const { keys } = (await mandate.get('/log/keys')).body as { keys: readonly { use: string; vkey?: string }[] };
  witness.watch(keys.find(({ use }) => use === 'log')?.vkey ?? '');
}

async function sealTwo(mandate: Mandate): Promise<void> {
  for (const person of ['ada', 'grace']) await mandate.block(`${person}-${Math.random()}`, 'disabled');
  await passOf(mandate);
}

async function passOf(mandate: Mandate): Promise<void> {
  await mandate.jobs.seal();
  await mandate.jobs.growLog();
  await mandate.jobs.askWitnesses();
  // An instance reads the state of the log at most once a second.
  mandate.clock.advance(2);
}

async function problemsOf(mandate: Mandate): Promise<string> {
  const { body } = await mandate.untilReady({ accept: 'application/json' });
  const checks = body.checks as Readonly<Record<string, { readonly status: string }>>;
  if (checks.database?.status === 'Unhealthy') return 'Unhealthy: database';
  const problems = ['sealing', 'log'].filter((name) => (checks[name]?.status ?? 'Healthy') !== 'Healthy');
  return problems.length === 0 ? 'Healthy' : `Degraded: ${problems.join(', ')}`;
}

async function verifyLedgerOf(
  fresh: FreshDatabase,
  signing: Readonly<Record<string, string>>,
  marks: readonly string[],
  jwks: string | undefined,
): Promise<string> {
  const request = {
    archive: undefined,
    bundle: undefined,
    policy: undefined,
    recordedKeys: false,
    json: false,
    marks: marks.flatMap((text) => parseMark(text) ?? []),
    jwks: jwks === undefined ? undefined : ({ kind: 'file', path: jwks } as const),
  };
  const { result, out, err } = await withEnvironment(environmentOf({ ...fresh.settings, ...signing }), () =>
    capturingOutput(() => auditVerify(request, [])),
  );
  expect(err).not.to.include('mandate: ');
  return `${result} ${out.split('\n')[0]}`;
}

/** The cells of a table whose first header is this one. "the same" is the verdict of the cell before. */
function rowsUnder(header: string): ReadonlyMap<string, readonly string[]> {
  const [, , ...lines] = (page.split('\n\n').find((block) => block.startsWith(`| ${header} |`)) ?? '').split('\n');
  return new Map(
    lines.map((line) => {
      const [change = '', ...cells] = line.slice(2, -2).split(' | ');
      let before = '';
      const verdicts = cells.map((cell) => {
        before = cell.replace(/^the same/, before.replace(/; .*$/, ''));
        return before;
      });
      return [change, verdicts];
    }),
  );
}

/** A cell that ends with an ellipsis, before what `/readyz` says, leaves out the rest of the line. */
function agrees(cell: string, verdict: string, readiness: string | undefined): boolean {
  const [line = '', ready] = cell.split('; `/readyz` ');
  const isLine = line.endsWith('…') ? verdict.startsWith(line.slice(0, -1).trimEnd()) : verdict === line;
  return isLine && ready === readiness;
}

for (const database of databasesByLength) {
  describe(`The table of what an owner of the database can do, on ${database.name}`, function () {
    this.timeout(120_000);
    const rows = rowsUnder('Done to the ledger');

    it('has the rows that are tried here, and no other', () => {
      expect([...rows.keys()]).to.deep.equal(Object.keys(CHANGES));
    });

    for (const change of sampleByLength(Object.keys(CHANGES))) {
      it(`says what audit-verify says: ${change}`, async () => {
        const cells = rows.get(change) ?? [];
        const found: (readonly [string, string | undefined])[] = [];
        const without = await outcomeOf(database, change, 'without');
        found.push([await without.verify([]), without.readiness]);
        found.push([await without.verify([without.mark]), undefined]);
        found.push([await without.verify([], without.jwks), undefined]);
        await without.stop();
        for (const setup of ['log', 'witness'] as const) {
          const outcome = await outcomeOf(database, change, setup);
          found.push([await outcome.verify([]), outcome.readiness]);
          await outcome.stop();
        }
        const isSame = found.map(([verdict, ready], at) => agrees(cells[at] ?? '', verdict, ready));
        const said = found.map(([verdict, ready]) =>
          ready === undefined ? verdict : `${verdict}; \`/readyz\` ${ready}`,
        );
        expect(isSame, `the row has to be | ${[change, ...said].join(' | ')} |`).to.deep.equal(COLUMNS.map(() => true));
      });
    }
  });
}
