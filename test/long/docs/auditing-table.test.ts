/**
 * The table of docs/auditing.md, "What an owner of the database can do". Each cell is made here: the change, one pass of the
 * service, then `audit-verify`. The page and the outcomes have to agree. At every push `test/system/owner-of-the-database.test.ts` and
 * `test/system/audit-verify.test.ts` hold what is found.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { auditVerify } from '../../../composition/commands/audit-verify.ts';
import { formatMark, parseMark } from '../../../domain/ledger/checkpoint.ts';
import { capturingOutput, withEnvironment } from '../../support/captured-output.ts';
import { connectOutside, databasesByLength, type FreshDatabase, type TestDatabase } from '../../support/databases.ts';
import { eventually } from '../../support/eventually.ts';
import { CHANGES, KEPT_LOG } from '../../support/ledger/owner-changes.ts';
import { makeSealingKey } from '../../support/ledger/sealing-key.ts';
import { startTampering } from '../../support/ledger/tampering.ts';
import { byLength } from '../../support/length.ts';
import { type ServedWitness, servedWitness } from '../../support/log/served-witness.ts';
import { environmentOf, type Mandate, startMandate } from '../../support/mandate.ts';
import { logKeySettings } from '../../support/transparency-log.ts';

const page = await readFile(new URL('../../../docs/auditing.md', import.meta.url), 'utf8');

const COLUMNS = [
  'nothing kept',
  'a mark kept',
  'the key set kept',
  'with a log',
  'with a log and a witness',
  'its note kept too',
] as const;

type Setup = 'without' | 'log' | 'witness';
const SETUPS = ['without', 'log', 'witness'] as const;

/** One with and one without a restart; one about archives, one about keys and the log. Each setup starts a service or two. */
const SHORT: readonly (readonly [keyof typeof CHANGES, readonly Setup[]])[] = [
  ['The same, marked with a time within a month', ['without', 'log']],
  ['Own key for checkpoint 2 alone, and the log emptied; service restarted', ['witness']],
];

interface Outcome {
  /** The exit code and the first line of `audit-verify` with these arguments. */
  verify(kept: Partial<Kept>): Promise<string>;
  /** What an auditor kept before the change. */
  readonly kept: Kept;
  /** The checks of `/readyz` that are not Healthy. */
  readonly readiness: string;
  stop(): Promise<void>;
}

interface Kept {
  readonly mark: string;
  /** The file of the key set. */
  readonly jwks: string;
  /** The file of the note that the log shows, and the file of a policy with the keys of the log and its witness. */
  readonly note: string;
  readonly policy: string;
}

async function outcomeOf(database: TestDatabase, change: keyof typeof CHANGES, setup: Setup): Promise<Outcome> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-table-'));
  const key = await makeSealingKey();
  const fresh = await database.fresh();
  const witness = setup === 'witness' ? await servedWitness('auditor.test/w') : undefined;
  const signing = { 'Service:Signing:Keys:0:Pem': key.pem };
  const settings = { ...signing, ...(setup === 'without' ? {} : logSettings(witness)) };
  let mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings });
  const logKey = setup === 'without' ? '' : await logKeyOf(mandate);
  witness?.watch(logKey);
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
    const file = (name: string, text: string) => {
      writeFileSync(join(folder, name), text);
      return join(folder, name);
    };
    const policy = { log_keys: [logKey], witnesses: [witness?.vkey], quorum: 1 };
    const kept = {
      mark: formatMark(newest),
      jwks: file('jwks.json', (await mandate.get('/.well-known/jwks.json')).text),
      note: file('kept.note', (await mandate.get('/log/checkpoint')).text),
      policy: file('policy.json', JSON.stringify(policy)),
    };
    await mandate.block('unsealed', 'disabled');

    const [restart, ...steps] = CHANGES[change] ?? ['running'];
    const changed = { mandate, storage, tampering, engine: database.engine, hasLog: setup !== 'without', key };
    for (const step of steps) await step(changed);
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
      kept,
      readiness,
      verify: (given) => verifyLedgerOf(fresh, given.jwks === undefined ? signing : {}, given),
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

async function logKeyOf(mandate: Mandate): Promise<string> {
  const { keys } = (await mandate.get('/log/keys')).body as { keys: readonly { use: string; vkey?: string }[] };
  return keys.find(({ use }) => use === 'log')?.vkey ?? '';
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
  { mark, jwks, note, policy }: Partial<Kept>,
): Promise<string> {
  const subject = {
    kind: 'ledger',
    policy,
    note: note === undefined ? undefined : ({ kind: 'file', path: note } as const),
    recordedKeys: false,
    marks: mark === undefined ? [] : [parseMark(mark)].flatMap((each) => each ?? []),
    jwks: jwks === undefined ? undefined : ({ kind: 'file', path: jwks } as const),
  } as const;
  const { result, out, err } = await withEnvironment(environmentOf({ ...fresh.settings, ...signing }), () =>
    capturingOutput(() => auditVerify({ subject, json: false }, [])),
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

    it('has exactly the rows that are tried here', () => {
      expect([...rows.keys()]).to.deep.equal(Object.keys(CHANGES));
    });

    const every = Object.keys(CHANGES).map((change) => [change, SETUPS] as const);
    for (const [change, setups] of byLength<readonly (readonly [string, readonly Setup[]])[]>({
      short: SHORT,
      full: every,
    })) {
      it(`says what audit-verify says, ${setups.join(', ')}: ${change}`, async () => {
        const cells = rows.get(change) ?? [];
        expect(cells).to.have.lengthOf(COLUMNS.length);
        const found = new Map<(typeof COLUMNS)[number], readonly [verdict: string, readiness: string | undefined]>();
        for (const setup of setups) {
          const { kept, verify, readiness, stop } = await outcomeOf(database, change, setup);
          const { mark, jwks, note, policy } = kept;
          if (setup === 'without') {
            found.set('nothing kept', [await verify({}), readiness]);
            found.set('a mark kept', [await verify({ mark }), undefined]);
            found.set('the key set kept', [await verify({ jwks }), undefined]);
          } else if (setup === 'log') found.set('with a log', [await verify({}), readiness]);
          else {
            found.set('with a log and a witness', [await verify({}), readiness]);
            found.set('its note kept too', [await verify({ note, policy }), undefined]);
          }
          await stop();
        }
        const faults = [...found].flatMap(([column, [verdict, ready]]) => {
          const said = ready === undefined ? verdict : `${verdict}; \`/readyz\` ${ready}`;
          return agrees(cells[COLUMNS.indexOf(column)] ?? '', verdict, ready) ? [] : [`${column} has to be: ${said}`];
        });
        expect(faults, change).to.deep.equal([]);
      });
    }
  });
}
