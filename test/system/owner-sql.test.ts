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
import { connectOutside, databases, type OutsideConnection } from '../support/databases.ts';
import { seal } from '../support/ledger/fill.ts';
import { type OwnedTables, ownedTables } from '../support/ledger/owner-sql.ts';
import { seeded } from '../support/ledger/tampering.ts';
import { byLength } from '../support/length.ts';
import { type Evidence, evidence } from '../support/log/evidence.ts';
import { environmentOf } from '../support/mandate.ts';
import type { Storage } from '../support/storage.ts';

const ROUNDS = { sqlite: byLength({ short: 8, full: 3000 }), postgres: byLength({ short: 8, full: 500 }) };
const SEED = 20_261_128;

interface Scene {
  readonly ledger: Evidence;
  /** What an auditor kept before the changes: a mark, the key set, the note of the log, and a policy. */
  readonly kept: { readonly mark: Mark; readonly jwks: string; readonly note: string; readonly policy: string };
  /** Whether each sealed record is still the one that was sealed. */
  isAsSealed(): Promise<boolean>;
}

interface Judge {
  readonly name: string;
  /** Whether it is promised. Over all rounds both answers must occur. */
  says(scene: Scene): Promise<boolean>;
}

/** @returns the report of `audit-verify`, with the exit code before it */
async function report({ ledger }: Scene, given: Partial<Scene['kept']>): Promise<string> {
  const file = (path: string | undefined) => (path === undefined ? undefined : ({ kind: 'file', path } as const));
  const request = {
    archive: undefined,
    bundle: undefined,
    policy: given.policy,
    note: file(given.note),
    recordedKeys: false,
    json: false,
    marks: given.mark === undefined ? [] : [given.mark],
    jwks: file(given.jwks),
  };
  const { result, out } = await withEnvironment(environmentOf(ledger.settings()), () =>
    capturingOutput(() => auditVerify(request, [])),
  );
  return `${result} ${out}`;
}

const JUDGES: readonly Judge[] = [
  {
    name: 'audit-verify with a mark and the key set says "intact"',
    says: async (scene) =>
      (await report(scene, { mark: scene.kept.mark, jwks: scene.kept.jwks })).startsWith('0 The seal is intact:'),
  },
  {
    name: 'audit-verify with a note and a policy says that the policy is met',
    says: async (scene) => {
      const { note, policy, jwks } = scene.kept;
      const said = await report(scene, { note, policy, jwks });
      return (
        said.startsWith('0 ') && (said.includes('It meets the policy') || said.startsWith('0 The seal is intact:'))
      );
    },
  },
];

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

for (const database of databases) {
  describe(`Random SQL of an owner of the database, on ${database.name}`, function () {
    this.timeout(3_600_000);
    const folder = mkdtempSync(join(tmpdir(), 'mandate-owner-'));
    let ledger: Evidence;
    let outside: OutsideConnection;
    let tables: OwnedTables;
    let scene: Scene;
    before(async () => {
      ledger = await evidence(database);
      await ledger.rotate();
      for (const number of [10, 20, 30]) {
        await ledger.task(number);
        await ledger.publish();
      }
      await ledger.task(40);
      outside = await connectOutside(ledger.database, database.engine === 'postgres' ? 'superuser' : undefined);
      scene = await sceneOf(ledger, folder);
      tables = await ownedTables(outside, database.engine);
    });
    after(async () => {
      await outside.close();
      await ledger.close();
      rmSync(folder, { recursive: true });
    });

    it(`never makes a report promise what is no longer so, in ${ROUNDS[database.engine]} rounds`, async () => {
      const random = seeded(SEED);
      const said = JUDGES.map(() => 0);
      let changed = 0;
      for (let round = 0; round < ROUNDS[database.engine]; round += 1) {
        const statements = [...(await tables.change(random))];
        // The service seals what it finds. Then the owner goes on: a forged record may have been sealed.
        if (random(2) === 0 && (await sealedAgain(ledger)))
          statements.push('-- sealed', ...(await tables.change(random)));
        const isAsSealed = await scene.isAsSealed();
        if (!isAsSealed) changed += 1;
        for (const [at, judge] of JUDGES.entries()) {
          const isSaid = await judge.says(scene);
          if (isSaid) said[at] = (said[at] ?? 0) + 1;
          if (isSaid && !isAsSealed)
            throw new Error(`${judge.name}, in round ${round} after:\n${statements.join(';\n')}`);
        }
        await tables.restore();
      }
      expect(changed, 'rounds with a changed record').to.be.within(1, ROUNDS[database.engine] - 1);
      for (const [at, { name }] of JUDGES.entries())
        expect(said[at], name).to.be.within(1, ROUNDS[database.engine] - 1);
      for (const { name, says } of JUDGES) expect(await says(scene), `${name} of the restored rows`).to.equal(true);
    });
  });
}

async function sealedAgain(ledger: Evidence): Promise<boolean> {
  return opened(ledger, (storage) => seal(storage, ledger.signer(), ledger.now())).then(
    () => true,
    () => false,
  );
}

async function sceneOf(ledger: Evidence, folder: string): Promise<Scene> {
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
  return {
    ledger,
    kept: {
      mark: newest,
      jwks: file('jwks.json', ledger.jwks()),
      note: file('kept.note', published.note),
      policy: file('policy.json', JSON.stringify(policy)),
    },
    isAsSealed: async () => (await read().catch(() => 'unreadable')) === before,
  };
}
