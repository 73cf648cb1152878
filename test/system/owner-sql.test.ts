/**
 * The property of the table in docs/auditing.md: whatever SQL an owner of the database runs, on any table, no report says
 * "intact", and none says that the policy is met, if a sealed record is no longer the one that was sealed.
 *
 * `JUDGES` are the promises. Each gets the ledger after the changes, and answers what it promised wrongly.
 */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { auditVerify } from '../../composition/commands/audit-verify.ts';
import { canonicalRecord } from '../../domain/ledger/canonical-json.ts';
import type { Checkpoint, Mark } from '../../domain/ledger/checkpoint.ts';
import { formatVerifierKey } from '../../domain/log/verifier-key.ts';
import { capturingOutput, withEnvironment } from '../support/captured-output.ts';
import { runMandate } from '../support/cli-run.ts';
import { connectOutside, databases, type OutsideConnection, type TestDatabase } from '../support/databases.ts';
import { archivingOf, departedMonth } from '../support/ledger/archivings.ts';
import { seal } from '../support/ledger/fill.ts';
import { liftGuards, type OwnedTables, ownedTables } from '../support/ledger/owner-sql.ts';
import { seeded } from '../support/ledger/tampering.ts';
import { byLength } from '../support/length.ts';
import { type Evidence, evidence } from '../support/log/evidence.ts';
import { environmentOf } from '../support/mandate.ts';
import type { Storage } from '../support/storage.ts';

/** With an archived month a third of them. */
const ROUNDS = { sqlite: byLength({ short: 4, full: 3000 }), postgres: byLength({ short: 4, full: 500 }) };
const SEED = 20_261_128;
/** Bundles take most of the time. */
const BUNDLES = byLength({ short: false, full: true });
const DEAR_EVERY = 10;
const INTACT = 'The seal is intact';
const MEETS = 'It meets the policy';

interface Scene {
  readonly ledger: Evidence;
  /** What an auditor kept before the changes: a mark, the key set, the note of the log, and a policy. */
  readonly kept: {
    readonly mark: Mark;
    readonly jwks: string;
    readonly note: string;
    readonly policy: string;
    /** Where a bundle is written, and of which task. */
    readonly bundle: string;
    readonly taskId: string;
  };
  /** How the report begins before the changes. */
  readonly intact: string;
  /** The records of the bundle that was made before the changes; `undefined` in the short form, which makes none. */
  readonly bundled: ReadonlySet<string> | undefined;
  /** Whether each sealed record is still the one that was sealed. */
  isAsSealed(): Promise<boolean>;
}

interface Judge {
  readonly name: string;
  /** What is promised; `undefined` if nothing is. Over all rounds both answers must occur. */
  says(scene: Scene): Promise<string | undefined>;
  /** Whether the promise is kept. By default it is while each sealed record is the one that was sealed. */
  isKept?(scene: Scene, said: string): boolean;
  /** Asked in some rounds, and only at full length. */
  readonly isDear?: boolean;
}

/** @returns the report of `audit-verify`, with the exit code before it */
async function report({ ledger }: Scene, given: Partial<Scene['kept']>): Promise<string> {
  const file = (path: string | undefined) => (path === undefined ? undefined : ({ kind: 'file', path } as const));
  const subject = {
    kind: 'ledger',
    policy: given.policy,
    note: file(given.note),
    recordedKeys: false,
    marks: given.mark === undefined ? [] : [given.mark],
    jwks: file(given.jwks),
  } as const;
  const { result, out } = await withEnvironment(environmentOf(ledger.settings()), () =>
    capturingOutput(() => auditVerify({ subject, json: false }, [])),
  );
  return `${result} ${out}`;
}

const ALL_JUDGES: readonly Judge[] = [
  {
    name: 'audit-verify with a mark and the key set says "intact"',
    async says(scene) {
      const said = await report(scene, { mark: scene.kept.mark, jwks: scene.kept.jwks });
      return said.startsWith(scene.intact) ? said : undefined;
    },
  },
  {
    name: 'audit-verify with a note and a policy says that the policy is met',
    says: async (scene) => {
      const { note, policy, jwks } = scene.kept;
      const said = await report(scene, { note, policy, jwks });
      const isPromised = said.startsWith(scene.intact) || (said.startsWith('0 ') && said.includes(MEETS));
      return isPromised ? said : undefined;
    },
  },
  {
    name: 'audit-bundle makes a bundle that audit-verify says to meet the policy',
    isDear: true,
    async says(scene) {
      const made = await bundle(scene);
      return made?.verdict.includes(MEETS) === true ? made.text : undefined;
    },
    isKept: ({ bundled }, text) => recordsIn(text).every((record) => bundled?.has(record) === true),
  },
];
const JUDGES = ALL_JUDGES.filter(({ isDear }) => BUNDLES || isDear !== true);

/** A bundle of a task, as the command makes it now; `undefined` if it makes none. */
async function bundle({ ledger, kept }: Pick<Scene, 'ledger' | 'kept'>) {
  const what = ['--task', kept.taskId, '--jwks', kept.jwks];
  const { out: text } = await runMandate(['audit-bundle', ...what], ledger.settings());
  if (text === '') return undefined;
  writeFileSync(kept.bundle, text);
  const verified = await runMandate(['audit-verify', '--bundle', kept.bundle, '--policy', kept.policy]);
  return { text, verdict: verified.code === 0 ? verified.out : '' };
}

/** The records of a bundle, as text. */
function recordsIn(text: string): readonly string[] {
  return [...text.matchAll(/^\{"record":(\{.*?\}),"leaf_index"/gm)].map(([, record = '']) => record);
}

/** Opened anew each time: a process that notices that its newest record is gone answers nothing more. */
async function opened<Answer>({ database }: Evidence, read: (storage: Storage) => Promise<Answer>): Promise<Answer> {
  const storage = await database.open();
  try {
    return await read(storage);
  } finally {
    await storage.close();
  }
}

async function sealedTexts(storage: Storage, sealed: readonly Checkpoint[]): Promise<string> {
  const texts: string[] = [];
  for (const checkpoint of sealed) {
    const records = await storage.checkpoints.records(checkpoint, checkpoint.firstSeq - 1, 1000);
    texts.push(`${checkpoint.checkpointId} ${records.map(canonicalRecord).join()}`);
  }
  return texts.join('\n');
}

const LEDGERS = databases.flatMap((database) =>
  byLength({ short: [false], full: [false, true] }).map((hasArchive) => ({ database, hasArchive })),
);

for (const { database, hasArchive } of LEDGERS) {
  const named = `${database.name}${hasArchive ? ', with a month that was archived' : ''}`;
  describe(`Random SQL of an owner of the database, on ${named}`, function () {
    this.timeout(3_600_000);
    const rounds = Math.ceil(ROUNDS[database.engine] / (hasArchive ? 3 : 1));
    const folder = mkdtempSync(join(tmpdir(), 'mandate-owner-'));
    let ledger: Evidence;
    let outside: OutsideConnection;
    let tables: OwnedTables;
    let scene: Scene;
    let taskId = '';
    before(async () => {
      ledger = await evidence(database);
      await ledger.rotate();
      for (const number of [10, 20, 30]) {
        taskId = await ledger.task(number);
        if (number === 30 && hasArchive) await recordArchive(ledger);
        await ledger.publish();
      }
      await ledger.task(40);
      outside = await connectOutside(ledger.database, database.engine === 'postgres' ? 'superuser' : undefined);
      if (hasArchive) await dropArchived(outside, database.engine);
      scene = await sceneOf(ledger, folder, taskId, hasArchive);
      tables = await ownedTables(outside, database.engine);
    });
    after(async () => {
      await outside.close();
      await ledger.close();
      rmSync(folder, { recursive: true });
    });

    it(`never makes a report promise what is no longer so, in ${rounds} rounds`, async () => {
      const random = seeded(SEED);
      const said = JUDGES.map(() => 0);
      let changed = 0;
      for (let round = 0; round < rounds; round += 1) {
        const statements = [...(await tables.change(random))];
        // The service seals what it finds. Then the owner goes on: a forged record may have been sealed.
        if (random(2) === 0 && (await sealedAgain(ledger)))
          statements.push('-- sealed', ...(await tables.change(random)));
        const isAsSealed = await scene.isAsSealed();
        if (!isAsSealed) changed += 1;
        for (const [at, judge] of JUDGES.entries()) {
          if (judge.isDear && round % DEAR_EVERY > 0) continue;
          const promised = await judge.says(scene);
          if (promised === undefined) continue;
          said[at] = (said[at] ?? 0) + 1;
          if (!(judge.isKept?.(scene, promised) ?? isAsSealed))
            throw new Error(`${judge.name}, in round ${round} after:\n${statements.join(';\n')}`);
        }
        await tables.restore();
      }
      expect(changed, 'rounds with a changed record').to.be.within(1, rounds - 1);
      for (const [at, { name }] of JUDGES.entries()) expect(said[at], name).to.be.within(1, rounds - 1);
      for (const { name, says } of JUDGES) expect(await says(scene), `${name} of the restored rows`).to.be.a('string');
    });
  });
}

const ARCHIVED = departedMonth('2026-08', [1, 1], [1, 8]);

/** The record of `audit-archive`, which no engine needs partitions for. */
async function recordArchive({ storage, append }: Evidence): Promise<void> {
  const first = (await storage.checkpoints.page(0, 1))[0];
  const last = first?.lastSeq ?? 0;
  const { at: _, ...entry } = archivingOf('2026-10-01T00:00:00Z', { ...ARCHIVED, sequence: { first: 1, last } });
  await append(entry);
}

/** The records of the first checkpoint leave, as a partition does. */
async function dropArchived(outside: OutsideConnection, engine: TestDatabase['engine']): Promise<void> {
  await liftGuards(outside, engine);
  await outside.sql('delete from ledger where seq <= (select last_seq from checkpoints where checkpoint_id = 1)');
}

async function sealedAgain(ledger: Evidence): Promise<boolean> {
  return opened(ledger, (storage) => seal(storage, ledger.signer(), ledger.now())).then(
    () => true,
    () => false,
  );
}

async function sceneOf(ledger: Evidence, folder: string, taskId: string, hasArchive: boolean): Promise<Scene> {
  const sealed = await ledger.storage.checkpoints.page(0, 100);
  const newest = sealed.at(-1);
  const published = (await ledger.storage.transparencyLog.state())?.published;
  if (newest === undefined || published === undefined) throw new Error('nothing was sealed');
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const policy = {
    checkpoint_keys: ledger.thumbprints(),
    log_keys: [formatVerifierKey(ledger.log.key)],
    witnesses: ledger.witnesses.map(({ key }) => formatVerifierKey(key)),
    quorum: ledger.witnesses.length,
  };
  const read = () => opened(ledger, (storage) => sealedTexts(storage, sealed));
  const before = await read();
  const kept = {
    mark: newest,
    jwks: file('jwks.json', ledger.jwks()),
    note: file('kept.note', published.note),
    policy: file('policy.json', JSON.stringify(policy)),
    bundle: join(folder, 'bundle.json'),
    taskId,
  };
  const bundled = BUNDLES ? await bundle({ ledger, kept }) : undefined;
  return {
    ledger,
    kept,
    intact: hasArchive ? `0 ${INTACT} but for 1 checkpoint whose records are archived:` : `0 ${INTACT}:`,
    bundled: bundled && new Set(recordsIn(bundled.text)),
    isAsSealed: async () => (await read().catch(() => 'unreadable')) === before,
  };
}
