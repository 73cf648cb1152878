/** The library and the page refuse every altered evidence bundle, and name the same line. */

import { createHash } from 'node:crypto';
import { expect } from 'chai';
import { type BundleDemands, verifyBundle } from '../../../../adapters/sdk/audit/audit.ts';
import { COSIGNATURE, ED25519, formatVerifierKey } from '../../../../domain/log/verifier-key.ts';
import { runCommand } from '../../../support/command-process.ts';
import { sqliteFile } from '../../../support/databases.ts';
import { seeded } from '../../../support/ledger/tampering.ts';
import { byLength } from '../../../support/length.ts';
import { type Evidence, evidence, noteSigner } from '../../../support/log/evidence.ts';
import { verifyOnPage } from '../../../support/log/evidence-page.ts';

const MUTATIONS = 1000;
/** The library verifies every altered bundle, and the page, which is slower, one of so many. */
const PAGE_VERIFIES_EVERY = byLength({ short: 10, full: 1 });

interface Document {
  readonly selection: object;
  readonly log: object | null;
  readonly evidence: readonly object[];
  readonly completeness: object;
}

/** The text of a bundle as whoever has no key can make it: every part with any content, and a digest that fits. */
function textOf({ selection, log, evidence, completeness }: Document): string {
  const named = (name: string, value: unknown) => `"${name}":${JSON.stringify(value)},\n`;
  const entries = evidence.map((entry) => JSON.stringify(entry)).join(',\n');
  const before = `{"format":"mandate-evidence/1",\n${named('selection', selection)}${named('log', log)}"evidence":[\n${entries}\n],\n${named('completeness', completeness)}`;
  return `${before}"sha256":"${createHash('sha256').update(before).digest('hex')}"}\n`;
}

type Path = readonly string[];

/** The paths of all values that are neither objects nor lists. */
function leavesOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [path];
  return Object.entries(value).flatMap(([name, each]) => leavesOf(each, [...path, name]));
}

/** A copy with another value at the path; `undefined` removes the member. */
function changed(value: unknown, [name, ...path]: Path, change: (value: unknown) => unknown): unknown {
  if (name === undefined) return change(value);
  if (Array.isArray(value)) {
    return value.flatMap((each, at) => (String(at) === name ? (changed(each, path, change) ?? []) : [each]));
  }
  return Object.fromEntries(
    Object.entries(value as object).flatMap(([key, each]) => {
      const next = key === name ? changed(each, path, change) : each;
      return next === undefined ? [] : [[key, next]];
    }),
  );
}

/** Another value of the same form. */
function altered(value: unknown): unknown {
  if (typeof value === 'number') return value + 1;
  if (typeof value !== 'string') return 7;
  return value.replace(/[0-9a-zA-Z](?=[^0-9a-zA-Z]*$)/, (last) => (last === '1' ? '2' : '1'));
}

/** What no key and no hash covers: the statements of whoever made the bundle. */
const STATEMENTS = /^(selection (from|to|agent_id)|completeness (not_sealed|not_logged|archived_before))$/;

describe('An evidence bundle', function () {
  this.timeout(180_000);
  let ledger: Evidence;
  let bundle: string;
  let lines: readonly string[];

  before(async () => {
    ledger = await evidence(sqliteFile);
    await ledger.task(10);
    await ledger.publish();
    await ledger.rotate();
    await ledger.task(13);
    await ledger.publish();
    const range = ['--agent', 'agent-1', '--from', '2026-01-01', '--to', '2027-01-01'];
    const made = await runCommand(['audit-bundle', ...range], ledger.settings());
    expect(made).to.include({ code: 0, err: '' });
    bundle = made.out;
    lines = bundle.slice(0, -1).split('\n');
  });
  after(() => ledger.close());

  /** The verdict of the library. If the page verifies the bundle too, its verdict is the same. */
  async function verdictOn(text: string, policy?: BundleDemands, number = 0) {
    const verdict = await verifyBundle(text, { policy });
    if (number % PAGE_VERIFIES_EVERY !== 0) return verdict;
    const page = await verifyOnPage(text, policy && JSON.stringify(policy));
    const said = ({ verified, fault, line }: { verified: boolean; fault?: string; line?: number | undefined }) => ({
      ...{ verified, fault, line },
    });
    expect(said(page)).to.deep.equal(said(verdict));
    return verdict;
  }

  it('verifies in one piece and in parts of any size, with its records, checkpoints and keys', async () => {
    const verdict = await verdictOn(bundle);
    expect(verdict).to.deep.include({ verified: true, checkpoints: 2, log: { origin: ledger.log.key.name, size: 2 } });
    const parts = bundle.match(/.{1,7}/gs) ?? [];
    expect(await verifyBundle(parts)).to.deep.equal(verdict);
    const [first, second] = ledger.thumbprints();
    const keys = verdict.verified ? verdict.keys.map(({ use, thumbprint }) => [use, thumbprint]) : [];
    expect(keys).to.deep.equal([
      ['log', ledger.log.thumbprint],
      ...ledger.witnesses.map(({ thumbprint }) => ['witness', thumbprint]),
      ['checkpoint', first],
      ['checkpoint', second],
    ]);
  });

  it('is refused after each of 1,000 random mutations, at the mutated line', async () => {
    const random = seeded(22);
    const bytes = Buffer.from(bundle);
    const mutations: readonly ((at: number) => Buffer)[] = [
      (at) =>
        Buffer.concat([bytes.subarray(0, at), Buffer.of((bytes[at] ?? 0) ^ (1 << random(8))), bytes.subarray(at + 1)]),
      (at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]),
      (at) => Buffer.concat([bytes.subarray(0, at), Buffer.of(32 + random(95)), bytes.subarray(at)]),
      (at) => bytes.subarray(0, at),
      (at) => Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + random(300))]),
    ];
    for (let round = 0; round < MUTATIONS; round += 1) {
      const at = random(bytes.length);
      const mutated = mutations[round % mutations.length]?.(at) ?? bytes;
      const verdict = await verdictOn(mutated.toString('utf8'), undefined, round);
      if (verdict.verified) expect.fail(`round ${round} at ${at}`);
      const line = bytes.subarray(0, at).toString('latin1').split('\n').length;
      // A changed selection shows at a record that does not match it, or at the digest.
      if (line !== 2 && line !== lines.length - 1)
        expect(verdict.line, `round ${round}: ${verdict.message}`).to.equal(line);
    }
  });

  it('is refused after each change of a member by somebody without a key, but for the statements of its maker', async () => {
    const document = JSON.parse(bundle) as Document;
    expect(textOf(document)).to.equal(bundle);
    const accepted: string[] = [];
    let tried = 0;
    for (const path of leavesOf({ ...document, format: undefined, sha256: undefined })) {
      for (const change of [altered, () => undefined, () => null, (value: unknown) => [value]]) {
        const text = textOf(changed(document, path, change) as Document);
        if (text !== bundle && (await verdictOn(text, undefined, tried++)).verified) accepted.push(path.join(' '));
      }
    }
    expect(accepted.filter((path) => !STATEMENTS.test(path))).to.deep.equal([]);
    expect(accepted).to.include('selection to').and.to.include('completeness not_sealed');
  });

  it('is refused if a line is missing, repeated, or swapped with the next one', async () => {
    for (const [at, line] of lines.entries()) {
      for (const altered of [
        lines.toSpliced(at, 1),
        lines.toSpliced(at, 0, line),
        lines.toSpliced(at, 2, lines[at + 1] ?? '', line),
      ]) {
        if (altered.join() === lines.join()) continue;
        expect(await verdictOn(`${altered.join('\n')}\n`, undefined, at), `${at}`).to.include({ verified: false });
      }
    }
  });

  it('is refused in every policy that names other keys, or more witnesses than signed', async () => {
    const other = await noteSigner(ledger.log.key.name, ED25519);
    const stranger = await noteSigner('third.example', COSIGNATURE);
    const [first = '', second = ''] = ledger.thumbprints();
    const log_keys = [formatVerifierKey(ledger.log.key)];
    const witnesses = ledger.witnesses.map(({ key }) => formatVerifierKey(key));
    const unknown = formatVerifierKey(stranger.key);
    const met: readonly BundleDemands[] = [
      { log_keys },
      { checkpoint_keys: [first, second] },
      { log_keys: [formatVerifierKey(other.key), ...log_keys], checkpoint_keys: [second, first] },
      { log_keys, witnesses, quorum: 2 },
      { log_keys, witnesses: [...witnesses, unknown], quorum: 2 },
    ];
    for (const policy of met) expect(await verdictOn(bundle, policy)).to.include({ verified: true });
    const unmet: readonly (readonly [BundleDemands, RegExp])[] = [
      [{ checkpoint_keys: [first] }, /^A key that signed a checkpoint/],
      [{ log_keys: [formatVerifierKey(other.key)] }, /^The key that signed the note/],
      [{ log_keys, witnesses: [...witnesses, unknown], quorum: 3 }, /demands 3 of its witnesses, and 2 cosigned/],
      [{ log_keys, witnesses: [unknown], quorum: 1 }, /demands 1 of its witnesses, and 0 cosigned/],
    ];
    for (const [policy, message] of unmet) {
      const verdict = await verdictOn(bundle, policy);
      expect(verdict).to.include({ verified: false, fault: 'policy' });
      expect(verdict.verified ? '' : verdict.message).to.match(message);
    }
    const { log, ...document } = JSON.parse(bundle) as Document;
    const evidence = document.evidence.map((entry) => changed(entry, ['log_path'], () => undefined) as object);
    const stripped = textOf({ ...document, log: null, evidence });
    expect(log).not.to.equal(null);
    expect(await verdictOn(stripped)).to.include({ verified: true, log: undefined });
    expect(await verdictOn(stripped, { log_keys })).to.include({ fault: 'policy' });
  });

  it('is not verified with a policy that is none', async () => {
    const [checkpoint = ''] = ledger.thumbprints();
    const log_keys = [formatVerifierKey(ledger.log.key)];
    const witnesses = ledger.witnesses.map(({ key }) => formatVerifierKey(key));
    const wrong: readonly unknown[] = [
      ...['{}', 'null', '[]', '"a"', '{', '{"log_keys":[],"log_keys":[]}'],
      ...[
        { witnesses, quorum: 1 },
        { log_keys, quorum: 1 },
        { log_keys, witnesses },
        { log_keys, witnesses, quorum: 3 },
      ],
      ...[{ log_keys, witnesses, quorum: 1.5 }, { log_keys, witnesses, quorum: '1' }, { log_keys: witnesses }],
      ...[{ log_keys, witnesses: log_keys, quorum: 1 }, { log_keys: [] }, { log_keys: [...log_keys, ...log_keys] }],
      ...[{ checkpoint_keys: checkpoint }, { checkpoint_keys: ['short'] }, { checkpoint_keys: [checkpoint], more: 1 }],
      { checkpoint_keys: [checkpoint], witnesses, quorum: 1 },
    ];
    for (const policy of wrong) {
      const text = typeof policy === 'string' ? policy : JSON.stringify(policy);
      const failure = await verifyBundle(bundle, { policy: text }).catch((error: unknown) => error);
      expect(failure, text).to.be.instanceOf(TypeError);
      expect(await verifyOnPage(bundle, text), text).to.include({ verified: false, fault: 'policy_malformed' });
    }
  });
});
