/** The library and the page refuse every altered evidence bundle, and name the same line. */

import { expect } from 'chai';
import { type BundleDemands, verifyBundle } from '../../../../adapters/sdk/audit/audit.ts';
import type { NoteSigner } from '../../../../application/ports/keys.ts';
import { cosignedText, encodeCosignature } from '../../../../domain/log/cosignature.ts';
import { formatNote, type NoteSignature, parseNote } from '../../../../domain/log/note.ts';
import { COSIGNATURE, ED25519, formatVerifierKey } from '../../../../domain/log/verifier-key.ts';
import { runMandate } from '../../../support/cli-run.ts';
import { sqliteFile } from '../../../support/databases.ts';
import { seeded } from '../../../support/ledger/tampering.ts';
import { byLength } from '../../../support/length.ts';
import {
  altered,
  changed,
  type Document,
  type LoggedDocument,
  leavesOf,
  mutationsOf,
  SPELLINGS,
  STATEMENTS,
  sha256Of,
  textOf,
} from '../../../support/log/altered-bundle.ts';
import { cosign, type Evidence, evidence, noteSigner } from '../../../support/log/evidence.ts';
import { verifyOnPage } from '../../../support/log/evidence-page.ts';
import { thrownBy } from '../../../support/thrown-by.ts';

/** The library verifies every altered bundle. The page is slower, and verifies one in this many. */
const PAGE_VERIFIES_EVERY = byLength({ short: 25, full: 1 });
const MUTATIONS = byLength({ short: 125, full: 1000 });

describe('An evidence bundle', function () {
  this.timeout(180_000);
  let ledger: Evidence;
  let bundle: string;
  let lines: readonly string[];
  /** Without a log only the signatures of the checkpoints cover them. */
  let withoutLog: string;

  before(async () => {
    ledger = await evidence(sqliteFile);
    await ledger.task(10);
    await ledger.publish();
    await ledger.rotate();
    await ledger.task(13);
    await ledger.publish();
    const range = ['--agent', 'agent-1', '--from', '2026-01-01', '--to', '2027-01-01'];
    const made = await runMandate(['audit-bundle', ...range, '--recorded-keys'], ledger.settings());
    expect(made.code).to.equal(0);
    // The settings name the newest key only.
    expect(made.err).to.include(`only the ledger names: ${ledger.thumbprints()[0]}. `);
    bundle = made.out;
    lines = bundle.slice(0, -1).split('\n');
    const bare = ['audit-bundle', ...range, '--recorded-keys', '--without-log'];
    withoutLog = (await runMandate(bare, ledger.settings())).out;
  });
  after(() => ledger.close());

  /** The verdict of the library. If the page verifies the bundle too, its verdict is the same. */
  async function verdictOn(text: string, policy?: BundleDemands, number = 0) {
    const verdict = await verifyBundle(text, { policy });
    if (number % PAGE_VERIFIES_EVERY !== 0) return verdict;
    const page = await verifyOnPage(text, policy && JSON.stringify(policy));
    const { verified, fault, line } = { fault: undefined, line: undefined, ...verdict };
    expect([page.verified, page.fault, page.line]).to.deep.equal([verified, fault, line]);
    return verdict;
  }

  const namedKeys = () => ({
    log_keys: [formatVerifierKey(ledger.log.key)],
    witnesses: ledger.witnesses.map(({ key }) => formatVerifierKey(key)),
  });

  it('verifies in one piece and in parts of any size, with its records, checkpoints and keys', async () => {
    const verdict = await verdictOn(bundle);
    expect(verdict).to.deep.include({ verified: true, checkpoints: 2, log: { origin: ledger.log.key.name, size: 2 } });
    expect(await verifyBundle(bundle.match(/.{1,7}/gs) ?? [])).to.deep.equal(verdict);
    const [first, second] = ledger.thumbprints();
    const keys = verdict.verified ? verdict.keys.map(({ use, thumbprint }) => [use, thumbprint]) : [];
    expect(keys).to.deep.equal([
      ['log', ledger.log.thumbprint],
      ...ledger.witnesses.map(({ thumbprint }) => ['witness', thumbprint]),
      ['checkpoint', first],
      ['checkpoint', second],
    ]);
  });

  it(`is refused after each of ${MUTATIONS} random mutations, at the mutated line`, async () => {
    const random = seeded(22);
    const bytes = Buffer.from(bundle);
    const mutations = mutationsOf(bytes, random);
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

  it('is refused after each change of a member without a key, except the statements of its maker', async () => {
    const accepted = new Set<string>();
    let tried = 0;
    for (const original of [bundle, withoutLog]) {
      const document = JSON.parse(original) as Document;
      expect(textOf(document)).to.equal(original);
      const others = [() => undefined, () => null, (value: unknown) => [value]];
      for (const [nth, path] of leavesOf({ ...document, format: undefined, sha256: undefined }).entries()) {
        // Otherwise one of the others in turn.
        const some = others.filter((_, other) => byLength({ short: nth % others.length === other, full: true }));
        for (const change of [altered, ...some]) {
          const text = textOf(changed(document, path, change) as Document);
          if (text !== original && (await verdictOn(text, undefined, tried++)).verified) accepted.add(path.join(' '));
        }
      }
    }
    expect([...accepted].filter((path) => !STATEMENTS.test(path))).to.deep.equal([]);
    expect(accepted).to.include('selection to').and.to.include('completeness not_sealed');
  });

  it('is refused with an entry that is repeated or swapped, or a missing checkpoint; a record may be left out', async () => {
    const document = JSON.parse(bundle) as Document;
    const { evidence: entries } = document;
    const isRecord = (entry: object) => 'record' in entry;
    const verdictWith = (evidence: readonly object[]) => {
      const completeness = { ...document.completeness, records: evidence.filter(isRecord).length };
      return verdictOn(textOf({ ...document, evidence, completeness }));
    };
    for (const [at, entry] of entries.entries()) {
      const next = entries[at + 1];
      expect((await verdictWith(entries.toSpliced(at, 0, entry))).verified, `${at} repeated`).to.equal(false);
      if (next !== undefined) {
        expect((await verdictWith(entries.toSpliced(at, 2, next, entry))).verified, `${at} swapped`).to.equal(false);
      }
      expect((await verdictWith(entries.toSpliced(at, 1))).verified, `${at} missing`).to.equal(isRecord(entry));
    }
  });

  it('is refused with another key, with JSON spelled differently, or with more text at its end', async () => {
    const [first, second] = (JSON.parse(ledger.jwks()) as { keys: readonly { x: string; y: string }[] }).keys;
    for (const original of [bundle, withoutLog]) {
      const { x = '', y = '' } = first ?? {};
      const swapped = original.replace(x, second?.x ?? '').replace(y, second?.y ?? '');
      expect(await verdictOn(textOf(JSON.parse(swapped)))).to.include({ fault: 'invalid_signature', line: 5 });
    }
    for (const [written, other] of SPELLINGS) {
      const text = bundle.slice(0, bundle.lastIndexOf('"sha256"')).replace(written, other);
      expect(text, other).to.include(other);
      expect(await verdictOn(`${text}"sha256":"${sha256Of(text)}"}\n`), other).to.include({ fault: 'malformed' });
    }
    for (const more of ['\n', ' ', 'x', '{}\n']) {
      expect(await verdictOn(`${bundle}${more}`)).to.include({ fault: 'malformed', line: lines.length + 1 });
    }
    expect(await verdictOn(`\ufeff${bundle}`)).to.include({ fault: 'malformed', line: 1 });
  });

  it('is refused with a note that other keys signed, or that has not exactly one signature of each of its keys', async () => {
    const document = JSON.parse(bundle) as LoggedDocument;
    const { text, signatures: all } = parseNote(document.log.note) ?? { text: '', signatures: [] };
    const [own, first, second, ...more] = all;
    if (own === undefined || first === undefined || second === undefined) throw new Error('a signature is missing');
    expect(more).to.deep.equal([]);
    const signedBy = ({ key, sign }: NoteSigner, signed = text) => ({ ...key, signature: sign(Buffer.from(signed)) });
    const [ownKey = '', firstKey = '', secondKey = ''] = document.log.keys;
    const stranger = await noteSigner('other.example/ledger', ED25519);
    const strangerKey = formatVerifierKey(stranger.key);
    const hidden = await noteSigner('second.\u202eexample', COSIGNATURE);
    const cosigned = parseNote(`${text}\n${cosign(hidden, text, 1_790_000_000)}`)?.signatures ?? [];
    const larger = text.replace('\n2\n', '\n3\n');
    const cases: readonly (readonly [string, string, readonly NoteSignature[], readonly string[]])[] = [
      ['no signature of the log', text, [first], [firstKey]],
      ['a log of another name', text, [signedBy(stranger)], [strangerKey]],
      ['a witness whose name hides a character', text, [own, ...cosigned], [ownKey, formatVerifierKey(hidden.key)]],
      ['two logs', text, [own, signedBy(stranger)], [ownKey, strangerKey]],
      ['a signature without a key', text, [own, first], [ownKey]],
      ['a key without a signature', text, [own], [ownKey, firstKey]],
      ['a signature twice, and a key without one', text, [own, own, first], [ownKey, firstKey, secondKey]],
      ['a key twice', text, [own, first, first], [ownKey, firstKey, firstKey]],
      ['keys in another order', text, [own, first, second], [ownKey, secondKey, firstKey]],
      ['a witness before the log', text, [first, own], [firstKey, ownKey]],
      ['another text', larger, [own], [ownKey]],
      ['a cosignature of another text', larger, [signedBy(ledger.log, larger), first], [ownKey, firstKey]],
      ['a text that is no tree', `${own.name}\n2\n`, [signedBy(ledger.log, `${own.name}\n2\n`)], [ownKey]],
    ];
    for (const [what, noted, signatures, keys] of cases) {
      const note = formatNote({ text: noted, signatures });
      const verdict = await verdictOn(textOf({ ...document, log: { note, keys } }));
      expect(verdict, what).to.include({ verified: false, fault: 'log_note', line: 3 });
    }
    const untimely = async (seconds: number) => {
      const signature = encodeCosignature({
        seconds,
        signature: ledger.witnesses[0]?.sign(Buffer.from(cosignedText(seconds, text))) ?? new Uint8Array(),
      });
      const note = formatNote({ text, signatures: [own, { ...first, signature }] });
      return verdictOn(textOf({ ...document, log: { note, keys: [ownKey, firstKey] } }));
    };
    const last = 8_640_000_000_000;
    expect(await untimely(last)).to.include({ verified: true });
    for (const seconds of [last + 1, Number.MAX_SAFE_INTEGER]) {
      expect(await untimely(seconds), String(seconds)).to.include({ fault: 'log_note', line: 3 });
    }
    const one = { note: formatNote({ text, signatures: [own, second] }), keys: [ownKey, secondKey] };
    expect(await verdictOn(textOf({ ...document, log: one }))).to.include({ verified: true });
    // The signature of the log fits, and the proofs do not.
    const other = { note: formatNote({ text: larger, signatures: [signedBy(ledger.log, larger)] }), keys: [ownKey] };
    expect(await verdictOn(textOf({ ...document, log: other }))).to.include({ fault: 'not_in_log', line: 5 });
  });

  it('is refused if a hostile maker nests values many levels deep, or names the members of every object', async () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    const [, selection = '', log = '', , entry = ''] = lines;
    for (const [line, hostile] of [
      [2, `"selection":${deep},`],
      [2, `"selection":{"task_id":${deep}},`],
      [2, '"selection":{"__proto__":{"task_id":"x"}},'],
      [2, selection.replace('}', ',"constructor":{}}')],
      [3, `"log":{"note":${deep},"keys":[]},`],
      [3, log.replace('{', '{"__proto__":{},')],
      [5, `{"checkpoint":${deep}},`],
      [5, `{"checkpoint":{"__proto__":${entry.slice('{"checkpoint":'.length, -1)}},`],
      [5, '{"__proto__":{"record":{}}},'],
    ] as const) {
      const text = [...lines.slice(0, line - 1), hostile, ...lines.slice(line)].join('\n');
      expect(await verdictOn(`${text}\n`), hostile.slice(0, 60)).to.include({ fault: 'malformed', line });
    }
    for (const policy of [deep, `{"log_keys":${deep}}`, '{"__proto__":{"checkpoint_keys":["x"]}}', '{"log_keys":{}}']) {
      expect(await verifyOnPage(bundle, policy)).to.include({ verified: false, fault: 'policy_malformed' });
      expect(await thrownBy(verifyBundle(bundle, { policy })), policy.slice(0, 60)).to.be.instanceOf(TypeError);
    }
  });

  it('is not verified with a policy of which a member is undefined', async () => {
    for (const member of ['checkpoint_keys', 'log_keys', 'witnesses', 'quorum']) {
      const policy = { checkpoint_keys: ['A'.repeat(43)], [member]: undefined } as BundleDemands;
      expect(await thrownBy(verifyBundle(bundle, { policy })), member)
        .to.be.instanceOf(TypeError)
        .with.property('message')
        .that.includes(`${member} is undefined`);
    }
  });

  it('is refused in every policy that names other keys, or more witnesses than signed', async () => {
    const other = await noteSigner(ledger.log.key.name, ED25519);
    const stranger = await noteSigner('third.example', COSIGNATURE);
    const [first = '', second = ''] = ledger.thumbprints();
    const { log_keys, witnesses } = namedKeys();
    const unknown = formatVerifierKey(stranger.key);
    const met: readonly BundleDemands[] = [
      { log_keys },
      { checkpoint_keys: [first, second] },
      { log_keys: [formatVerifierKey(other.key), ...log_keys], checkpoint_keys: [second, first] },
      { log_keys, witnesses, quorum: 2 },
      { log_keys, witnesses: [...witnesses, unknown], quorum: 2 },
    ];
    for (const policy of met) expect(await verdictOn(bundle, policy)).to.include({ verified: true });
    const introduced = (JSON.parse(bundle) as Document).evidence.filter((entry) => 'key' in entry);
    const signedFirst = (introduced[1] as { readonly checkpoint?: { readonly checkpoint_id: number } }).checkpoint
      ?.checkpoint_id;
    const unmet: readonly (readonly [BundleDemands, RegExp])[] = [
      [{ checkpoint_keys: [first] }, new RegExp(`^The key ${second} signed checkpoint ${signedFirst}, and is not`)],
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
    const message = 'The policy demands a log, and the bundle has none.';
    expect(await verdictOn(stripped, { log_keys })).to.include({ fault: 'policy', message });
  });

  it('is not verified with a malformed policy', async () => {
    const [checkpoint = ''] = ledger.thumbprints();
    const { log_keys, witnesses } = namedKeys();
    const wrong: readonly unknown[] = [
      ...['{}', 'null', '[]', '"a"', '{', '{"log_keys":[],"log_keys":[]}'],
      ...[
        { witnesses, quorum: 1 },
        { log_keys, quorum: 1 },
        { log_keys, witnesses },
      ],
      { log_keys, witnesses, quorum: 3 },
      ...[{ log_keys, witnesses, quorum: 1.5 }, { log_keys, witnesses, quorum: '1' }, { log_keys: witnesses }],
      ...[{ log_keys, witnesses: log_keys, quorum: 1 }, { log_keys: [] }, { log_keys: [...log_keys, ...log_keys] }],
      ...[{ checkpoint_keys: checkpoint }, { checkpoint_keys: ['short'] }, { checkpoint_keys: [checkpoint], more: 1 }],
      { checkpoint_keys: [checkpoint], witnesses, quorum: 1 },
      { log_keys, witnesses: [formatVerifierKey((await noteSigner('a\u200b.example', COSIGNATURE)).key)], quorum: 1 },
    ];
    for (const policy of wrong) {
      const text = typeof policy === 'string' ? policy : JSON.stringify(policy);
      expect(await thrownBy(verifyBundle(bundle, { policy: text })), text).to.be.instanceOf(TypeError);
      expect(await verifyOnPage(bundle, text), text).to.include({ verified: false, fault: 'policy_malformed' });
    }
    const tooMany = JSON.stringify({ log_keys, witnesses, quorum: witnesses.length + 1 });
    const sentence = /^(Line 0: )?quorum of a policy is .*at most as many as it names/;
    expect((await verifyOnPage(bundle, tooMany)).message).to.match(sentence);
    const thrown = await thrownBy(verifyBundle(bundle, { policy: tooMany }));
    expect(thrown)
      .to.have.property('message')
      .that.matches(/quorum of a policy is .*at most as many as it names/);
  });
});
