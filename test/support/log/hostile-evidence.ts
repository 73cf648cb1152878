/**
 * Bundles and policies that two readers could judge differently. All three readers (`audit-verify --bundle`,
 * `@mandate/audit`, docs/verify-evidence.html) have to give each of them the verdict of this table.
 */

import { createHash } from 'node:crypto';
import { COSIGNATURE, ED25519, formatVerifierKey } from '../../../domain/log/verifier-key.ts';
import { quoted as escaped } from '../independent-ledger/canonical-form.ts';
import { type Forgery, forgedBundle, seededSigner } from './forged-bundle.ts';

interface HostileBundle {
  readonly title: string;
  readonly text: string;
  /** The fault and its line; `undefined` if the bundle agrees with itself. */
  readonly fault?: readonly [string, number];
}

const log = seededSigner('log.example', ED25519, 'log');
const FAR = '+012345-01-01T00:00:00.000Z';
const LONG = 'x'.repeat(2_097_152);

const WORDS = {
  salt: 'a-salt',
  title: 'Delete “é 😀”\u202e',
  lines: [{ label: 'Issue', value: '<b>"PAY-7"</b>; Amount: 1 EUR\u3164' }],
};
const TASK = 'task_01M31S7W68TMK7WDX8YKPSYT00';
const DIGEST = 'RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o';

/** The record of a request whose person was asked these words. */
function requestOf({ salt, title, lines }: typeof WORDS) {
  const each = lines.map(({ label, value }) => `{"label":${escaped(label)},"value":${escaped(value)}}`).join();
  const text = `{"digest":${escaped(DIGEST)},"lines":[${each}],"salt":${escaped(salt)},"task_id":${escaped(TASK)},"title":${escaped(title)}}`;
  const commitment = createHash('sha256').update(text).digest('hex');
  const detail = `approval=approval_01M31S7W68TMK7WDX8YKPSYT00&digest=${DIGEST}&commitment=${commitment}`;
  return { event: 'approval.requested', task_id: TASK, decision: 'allow', reason: null, detail } as const;
}

/** Puts words beside the record. */
const beside = (words: unknown) => (line: string) =>
  line.replace('"audit_path":[]}', `"audit_path":[],"words":${JSON.stringify(words)}}`);

const LACKS_OLDER = { from: '2026-01-01T00:00:00.000Z' };
const LINE = { salt: 's'.repeat(43), text: 'Not to “é 😀”' };
const NO_WITH_LINE = {
  ...requestOf(WORDS),
  event: 'approval.refused',
  detail: `${requestOf(WORDS).detail}&says=${createHash('sha256').update(`${LINE.salt}${LINE.text}`).digest('hex')}`,
};
const besideNo = (says: unknown) => (line: string) =>
  line.replace('"audit_path":[]}', `"audit_path":[],"says":${JSON.stringify(says)}}`);

const agreeing: Readonly<Record<string, Forgery>> = {
  'one record, with keys of its maker': {},
  'a log with a key of its maker': { signers: [log] },
  'a witness whose key is of its maker': { signers: [log, seededSigner('w.example', COSIGNATURE, 'w')] },
  'a record before 1970': { record: { ts: '1969-12-31T23:59:59.999Z' } },
  'a record of the year 0': { record: { ts: '0000-01-01T00:00:00.000Z' } },
  'the last millisecond of the year 9999': { record: { ts: '9999-12-31T23:59:59.999Z' } },
  'a time that an integer of microseconds does not hold': { record: { ts: '7367-07-16T22:57:20.210Z' } },
  'a range of all years': { selection: { from: '0000-01-01T00:00:00.000Z', to: '9999-12-31T23:59:59.999Z' } },
  'the words of a request': { record: requestOf(WORDS), line: beside(WORDS) },
  'the line of a no': { record: NO_WITH_LINE, line: besideNo(LINE), selection: LACKS_OLDER },
  'a no without its line': { record: NO_WITH_LINE, selection: LACKS_OLDER },
  'a request without its words': { record: requestOf(WORDS) },
  'a use whose request may be before the range': {
    record: { ...requestOf(WORDS), event: 'approval.used' },
    selection: { from: '2026-01-01T00:00:00.000Z' },
  },
  'a use whose request may be archived': {
    record: { ...requestOf(WORDS), event: 'approval.used' },
    completeness: { archived_before: '2026-01-01T00:00:00.000Z' },
  },
  'an event that no approval has': { record: { ...requestOf(WORDS), event: 'approval.constructor' } },
  'a use that names no approval': { record: { ...requestOf(WORDS), event: 'approval.used', detail: 'x' } },
  'ill-formed text that is escaped': { record: { sponsor: '\ud800' } },
};

const refused: Readonly<Record<string, readonly [Forgery, ...(readonly [string, number])]>> = {
  'a range from a year of five digits': [{ selection: { from: FAR } }, 'malformed', 2],
  'a range to a year of five digits': [{ selection: { to: FAR } }, 'malformed', 2],
  'a range from a year before Christ': [{ selection: { from: '-000001-01-01T00:00:00.000Z' } }, 'malformed', 2],
  'a checkpoint of a year of five digits': [{ checkpoint: { closed_at: FAR } }, 'malformed', 5],
  'a record of a year of five digits': [{ record: { ts: FAR } }, 'malformed', 6],
  'a record of a year before Christ': [{ record: { ts: '-000001-01-01T00:00:00.000Z' } }, 'malformed', 6],
  'archived before a year of five digits': [{ completeness: { archived_before: FAR } }, 'malformed', 8],
  'a tree without a task': [{ selection: { tree: true } }, 'malformed', 2],
  'a tree that is false': [{ selection: { task_id: TASK, tree: false }, record: { task_id: TASK } }, 'malformed', 2],
  'a record of a task outside of the tree': [
    { selection: { task_id: TASK, tree: true }, record: { task_id: 'task_01M31S7W68TMK7WDX8YKPSYT01' } },
    'other_record',
    8,
  ],
  'a record of no task in a tree': [{ selection: { task_id: TASK, tree: true } }, 'other_record', 8],
  'a range in which the record does not lie': [{ selection: { from: '2027-01-01T00:00:00.000Z' } }, 'other_record', 6],
  'a record at the end of the range': [{ selection: { to: '2026-09-21T14:13:20.001Z' } }, 'other_record', 6],
  'a record without a checkpoint': [{ record: { checkpoint: null } }, 'other_record', 6],
  'a record without a checkpoint, and checkpoint 0': [
    { record: { checkpoint: null }, checkpoint: { checkpoint_id: 0 } },
    'other_record',
    6,
  ],
  'checkpoint 0 in a log': [
    { record: { checkpoint: 0 }, checkpoint: { checkpoint_id: 0 }, signers: [log] },
    'not_in_log',
    5,
  ],
  'a member of the selection twice': [
    { line: (text) => text.replace('n":{}', 'n":{"sponsor":"a","sponsor":"a"}') },
    'malformed',
    2,
  ],
  'a member of a key twice': [{ line: (text) => text.replace('"kty":"EC"', '"kty":"EC","kty":"EC"') }, 'malformed', 5],
  'a member of a checkpoint twice': [
    { line: (text) => text.replace('"tree_size":1', '"tree_size":1,"tree_size":1') },
    'malformed',
    5,
  ],
  'an entry with two records': [
    { line: (text) => text.replace('{"record":', '{"record":{},"record":') },
    'malformed',
    6,
  ],
  'a member of a record twice': [{ line: (text) => text.replace('"seq":1', '"seq":1,"seq":1') }, 'malformed', 6],
  'a member of the completeness twice': [
    { line: (text) => text.replace('"records":1', '"records":1,"records":1') },
    'malformed',
    8,
  ],
  'a request with another title': [
    { record: requestOf(WORDS), line: beside({ ...WORDS, title: 'Read' }) },
    'other_words',
    6,
  ],
  'a request with one line less': [
    { record: requestOf(WORDS), line: beside({ ...WORDS, lines: [] }) },
    'other_words',
    6,
  ],
  'a request with another salt': [
    { record: requestOf(WORDS), line: beside({ ...WORDS, salt: 'b' }) },
    'other_words',
    6,
  ],
  'the words of a request beside a yes': [
    { record: { ...requestOf(WORDS), event: 'approval.granted' }, line: beside(WORDS) },
    'other_words',
    6,
  ],
  'words beside a record of no approval': [{ line: beside(WORDS) }, 'other_words', 6],
  'a no with another line': [
    { record: NO_WITH_LINE, line: besideNo({ ...LINE, text: 'Go on' }), selection: LACKS_OLDER },
    'other_words',
    6,
  ],
  'a no whose salt took a letter of the line': [
    {
      record: NO_WITH_LINE,
      line: besideNo({ salt: `${LINE.salt}${LINE.text[0]}`, text: LINE.text.slice(1) }),
      selection: LACKS_OLDER,
    },
    'other_words',
    6,
  ],
  'a line beside a no that has none': [
    { record: { ...requestOf(WORDS), event: 'approval.refused' }, line: besideNo(LINE), selection: LACKS_OLDER },
    'other_words',
    6,
  ],
  'the line of a no beside a yes': [
    { record: { ...NO_WITH_LINE, event: 'approval.granted' }, line: besideNo(LINE), selection: LACKS_OLDER },
    'other_words',
    6,
  ],
  'a line with its members in another order': [
    { record: NO_WITH_LINE, line: besideNo({ text: LINE.text, salt: LINE.salt }), selection: LACKS_OLDER },
    'malformed',
    6,
  ],
  ...Object.fromEntries(
    ['granted', 'refused', 'used', 'expired', 'withdrawn'].map((event) => [
      `an approval that is ${event} and was never requested`,
      [{ record: { ...requestOf(WORDS), event: `approval.${event}` } }, 'approval_order', 8] as const,
    ]),
  ),
  'words in another order': [
    { record: requestOf(WORDS), line: beside({ title: WORDS.title, salt: WORDS.salt, lines: WORDS.lines }) },
    'malformed',
    6,
  ],
  'words with a further member': [{ record: requestOf(WORDS), line: beside({ ...WORDS, more: '' }) }, 'malformed', 6],
  'words that are null': [{ record: requestOf(WORDS), line: beside(null) }, 'malformed', 6],
  'negative zero': [{ line: (text) => text.replace('"leaf_index":0', '"leaf_index":-0') }, 'malformed', 6],
  'a line that is too long': [{ record: { detail: LONG } }, 'malformed', 6],
  'a log whose name has a format character': [
    { signers: [seededSigner('log\u200b.example', ED25519, 'a')] },
    'log_note',
    3,
  ],
  'a log whose name begins with a byte order mark': [
    { signers: [seededSigner('\ufefflog', ED25519, 'a')] },
    'log_note',
    3,
  ],
  'a witness whose name turns text': [
    { signers: [log, seededSigner('w\u202e.example', COSIGNATURE, 'a')] },
    'log_note',
    3,
  ],
  // Two keys with one name and one id of 4 bytes: 55,000 attempts found them.
  'two witnesses with one name and one id': [
    { signers: [log, ...['seed 787', 'seed 54882'].map((seed) => seededSigner('w.example', COSIGNATURE, seed))] },
    'log_note',
    3,
  ],
};

export const hostileBundles: readonly HostileBundle[] = [
  ...Object.entries(agreeing).map(([title, forgery]) => ({ title, text: forgedBundle(forgery) })),
  ...Object.entries(refused).map(([title, [forgery, kind, line]]) => ({
    title,
    text: forgedBundle(forgery),
    fault: [kind, line] as const,
  })),
];

interface HostilePolicy {
  readonly title: string;
  readonly text: string;
  readonly isPolicy: boolean;
}

const THUMBPRINT = 'A'.repeat(43);
const OTHER = 'B'.repeat(43);
const LOG_KEY = formatVerifierKey(log.key);
const witnessed = (...names: readonly string[]) => ({
  log_keys: [LOG_KEY],
  quorum: 1,
  witnesses: names.map((name) => formatVerifierKey(seededSigner(name, COSIGNATURE, name).key)),
});
const json = (value: unknown) => JSON.stringify(value);

const policies: Readonly<Record<string, string>> = {
  'one key': json({ checkpoint_keys: [THUMBPRINT] }),
  'one key, and one that signed nothing': json({ checkpoint_keys: [THUMBPRINT, OTHER] }),
  'white space, and an escaped name': ` {\n"checkpoint\\u005fkeys" : [ "${THUMBPRINT}" ] }\t`,
  'a quorum of negative zero': `{"log_keys":["${LOG_KEY}"],"quorum":-0}`,
  'a name in another script': json(witnessed('свидетель.example')),
  'a name with a colon and braces': json(witnessed('w:{"a":1}')),
};

const noPolicies: Readonly<Record<string, string>> = {
  'a member twice': `{"checkpoint_keys":["${THUMBPRINT}"],"checkpoint_keys":["${THUMBPRINT}"]}`,
  'a member twice, once escaped': `{"checkpoint_keys":["${THUMBPRINT}"],"checkpoint\\u005fkeys":["${THUMBPRINT}"]}`,
  'a quorum twice': `${json(witnessed('w')).slice(0, -1)},"quorum":1}`,
  'a member twice in a list': `{"checkpoint_keys":[{"a":1,"a":1}]}`,
  'one key twice': json({ checkpoint_keys: [THUMBPRINT, THUMBPRINT] }),
  'one key of a log twice': json({ log_keys: [LOG_KEY, LOG_KEY] }),
  'one key and something else': json({ checkpoint_keys: [THUMBPRINT, 7] }),
  'a key of a log among those of checkpoints': json({ checkpoint_keys: [THUMBPRINT, LOG_KEY] }),
  'an empty list': json({ checkpoint_keys: [] }),
  'null for a list': json({ checkpoint_keys: null, log_keys: [LOG_KEY] }),
  'null for the quorum': json({ log_keys: [LOG_KEY], quorum: null }),
  'a quorum that is no whole number': json({ ...witnessed('w'), quorum: 0.5 }),
  'a quorum that two names of one key meet': json({
    log_keys: [LOG_KEY],
    quorum: 2,
    witnesses: ['a', 'b'].map((name) => formatVerifierKey(seededSigner(name, COSIGNATURE, 'same').key)),
  }),
  'a witness whose name has a format character': json(witnessed('w\u200d')),
  'a witness whose name begins with a byte order mark': json(witnessed('\ufeffw')),
  'a witness whose name is ill-formed': json(witnessed('w\ud800')),
  'a witness without a name': json(witnessed('')),
  'another member': json({ checkpoint_keys: [THUMBPRINT], comment: 'x' }),
  'a member of the prototype': `{"checkpoint_keys":["${THUMBPRINT}"],"__proto__":{}}`,
  'a byte order mark': `\ufeff${json({ checkpoint_keys: [THUMBPRINT] })}`,
  'a trailing comma': `{"checkpoint_keys":["${THUMBPRINT}"],}`,
  'a list': json([{ checkpoint_keys: [THUMBPRINT] }]),
  'a text': json('checkpoint_keys'),
  'more than a mebibyte': `${json({ checkpoint_keys: [THUMBPRINT] })}${' '.repeat(1_048_576)}`,
};

export const hostilePolicies: readonly HostilePolicy[] = [
  ...Object.entries(policies).map(([title, text]) => ({ title, text, isPolicy: true })),
  ...Object.entries(noPolicies).map(([title, text]) => ({ title, text, isPolicy: false })),
];
