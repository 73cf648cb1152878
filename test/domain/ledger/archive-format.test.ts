import { expect } from 'chai';
import fc from 'fast-check';
import { instantFromMicros } from '../../../domain/instant.ts';
import {
  type ArchivedRecord,
  formatCheckpoint,
  formatHeader,
  formatRecord,
  parseCheckpoint,
  parseHeader,
  parseRecord,
} from '../../../domain/ledger/archive-format.ts';
import type { Checkpoint } from '../../../domain/ledger/checkpoint.ts';
import type { LedgerDecision } from '../../../domain/ledger/record.ts';
import { type Month, parseMonth } from '../../../domain/ledger/time-range.ts';

const NOVEMBER = parseMonth('2026-11') as Month;

const record: ArchivedRecord = {
  seq: 12,
  checkpoint: 3,
  at: instantFromMicros(1_789_653_821_082_457),
  event: 'audit.archived',
  taskId: 'task_1',
  agentId: 'jira-triage',
  sponsor: 'ada',
  audience: 'https://jira.example',
  scope: 'jira:read jira:comment',
  jti: 'tok_1',
  delegationDepth: 2,
  decision: 'allow',
  reason: 'because',
  count: 7,
  detail: 'said',
};

const checkpoint: Checkpoint = {
  checkpointId: 3,
  firstSeq: 10,
  lastSeq: 12,
  treeSize: 2,
  rootHash: 'a'.repeat(64),
  prevCheckpointHash: 'b'.repeat(64),
  closedAt: instantFromMicros(1_789_653_821_882_007),
  kid: 'key-1',
  signature: 'c'.repeat(128),
};

/** Well-formed strings with many characters that need an escape. */
const text = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.constantFrom(
        '\\',
        '\t',
        '\n',
        '\r',
        '\0',
        '\\N',
        'N',
        'x',
        'xc2',
        '\u007f',
        '\u0080',
        '\u009f',
        '\u00a0',
        '😀',
        '\u2028',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''))
  .filter((each) => each.isWellFormed());
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const instant = fc.integer({ min: 0, max: Number.MAX_SAFE_INTEGER }).map(instantFromMicros);
const number = fc.nat({ max: Number.MAX_SAFE_INTEGER });

const records: fc.Arbitrary<ArchivedRecord> = fc.record({
  seq: number,
  checkpoint: number,
  at: instant,
  event: text,
  taskId: optional(text),
  agentId: optional(text),
  sponsor: optional(text),
  audience: optional(text),
  scope: optional(text),
  jti: optional(text),
  delegationDepth: optional(fc.integer()),
  decision: optional(fc.constantFrom<LedgerDecision>('allow', 'deny')),
  reason: optional(text),
  count: optional(fc.integer()),
  detail: optional(text),
});

describe('The text of an archived month', () => {
  it('has a header with its name, version, month and counts', () => {
    const header = { month: NOVEMBER, checkpoints: 43, records: 5210 };
    expect(formatHeader(header)).to.equal('service-archive\t1\t2026-11\t43\t5210');
    expect(parseHeader(formatHeader(header))).to.deep.equal(header);
  });

  it('has the fields of a checkpoint in the order of the table, with six fractional digits', () => {
    expect(formatCheckpoint(checkpoint)).to.equal(
      [
        '3',
        '10',
        '12',
        '2',
        'a'.repeat(64),
        'b'.repeat(64),
        '2026-09-17T14:03:41.882007Z',
        'key-1',
        'c'.repeat(128),
      ].join('\t'),
    );
    expect(parseCheckpoint(formatCheckpoint(checkpoint))).to.deep.equal(checkpoint);
    const first = { ...checkpoint, prevCheckpointHash: undefined };
    expect(formatCheckpoint(first).split('\t')[5]).to.equal('\\N');
    expect(parseCheckpoint(formatCheckpoint(first))).to.deep.equal(first);
  });

  it('has the fields of a record in the order of the table, count and detail last', () => {
    expect(formatRecord(record)).to.equal(
      [
        ...['12', '3', '2026-09-17T14:03:41.082457Z', 'audit.archived', 'task_1', 'jira-triage', 'ada'],
        ...['https://jira.example', 'jira:read jira:comment', 'tok_1', '2', 'allow', 'because', '7', 'said'],
      ].join('\t'),
    );
  });

  it('writes a null as \\N, and escapes the backslash of the text "\\N"', () => {
    expect(
      formatRecord({ ...record, detail: undefined })
        .split('\t')
        .at(-1),
    ).to.equal('\\N');
    expect(
      formatRecord({ ...record, detail: '\\N' })
        .split('\t')
        .at(-1),
    ).to.equal('\\\\N');
    expect(
      formatRecord({ ...record, detail: '' })
        .split('\t')
        .at(-1),
    ).to.equal('');
  });

  it('escapes only the backslash and the control characters', () => {
    const detail = '\\ \b \t \n \v \f \r \0 \u001f \u007f \u0080 \u0085 \u009f \u00a0 é 😀 " \'';
    expect(
      formatRecord({ ...record, detail })
        .split('\t')
        .at(-1),
    ).to.equal('\\\\ \\b \\t \\n \\v \\f \\r \\x00 \\x1f \\x7f \\xc2\\x80 \\xc2\\x85 \\xc2\\x9f \u00a0 é 😀 " \'');
  });

  it('is one line per record, and reads back unchanged for any content', () => {
    fc.assert(
      fc.property(records, (each) => {
        const line = formatRecord(each);
        expect(line.replaceAll('\t', '')).not.to.match(/\p{Cc}/u);
        expect(parseRecord(line)).to.deep.equal(each);
      }),
      { numRuns: 500 },
    );
  });

  const malformed: readonly (readonly [string, string])[] = [
    ['nothing', ''],
    ['a field too few', formatRecord(record).replace(/\tsaid$/, '')],
    ['a field too many', `${formatRecord(record)}\t`],
    ['a number with a zero before it', formatRecord(record).replace(/^12/, '012')],
    ['a number with a sign', formatRecord(record).replace(/^12/, '+12')],
    ['a number that is not one', formatRecord(record).replace(/^12/, 'NaN')],
    ['a number beyond the safe integers', formatRecord(record).replace(/^12/, '9007199254740993')],
    ['a null in place of a required number', formatRecord(record).replace(/^12/, '\\N')],
    ['three fractional digits', formatRecord(record).replace('.082457Z', '.082Z')],
    ['an offset', formatRecord(record).replace('457Z', '457+00:00')],
    ['a day that does not exist', formatRecord(record).replace('2026-09-17', '2026-02-30')],
    ['another decision', formatRecord(record).replace('\tallow\t', '\tAllow\t')],
    ['an unknown escape', formatRecord({ ...record, detail: '' }).concat('\\q')],
    ['an uppercase escape', formatRecord({ ...record, detail: '' }).concat('\\x0A')],
    ['a long escape of a character with a short one', formatRecord({ ...record, detail: '' }).concat('\\x0a')],
    ['a raw control character', formatRecord({ ...record, detail: '' }).concat('\u0001')],
    ['a backslash at the end', formatRecord({ ...record, detail: '' }).concat('\\')],
    ['a carriage return at the end', `${formatRecord(record)}\r`],
  ];
  for (const [title, line] of malformed) {
    it(`refuses a record with ${title}, because each ledger has exactly one text`, () => {
      expect(parseRecord(line)).to.equal(undefined);
    });
  }

  it('refuses a header of another kind, version or form', () => {
    expect(parseRecord(formatCheckpoint(checkpoint))).to.equal(undefined);
    expect(parseCheckpoint(formatRecord(record))).to.equal(undefined);
    for (const header of [
      'service-archive\t2\t2026-11\t0\t0',
      'service-archive\t1\t2026-13\t0\t0',
      'service-archive\t1\t2026-11\t-1\t0',
      'service-archive\t1\t2026-11\t0',
      ' service-archive\t1\t2026-11\t0\t0',
      '\ufeffservice-archive\t1\t2026-11\t0\t0',
    ]) {
      expect(parseHeader(header), header).to.equal(undefined);
    }
  });
});
