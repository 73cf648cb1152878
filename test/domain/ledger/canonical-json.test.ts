import { expect } from 'chai';
import fc from 'fast-check';
import { instantFromMicros } from '../../../domain/instant.ts';
import { canonicalCheckpoint, canonicalRecord } from '../../../domain/ledger/canonical-json.ts';
import { type Checkpoint, presentCheckpoint } from '../../../domain/ledger/checkpoint.ts';
import { type LedgerRecord, presentRecord } from '../../../domain/ledger/record.ts';
import { canonicalCheckpointForm, canonicalRecordForm } from '../../support/independent-ledger/canonical-form.ts';
import { readCheckpoint, readRecord } from '../../support/independent-ledger/read-published.ts';
import { canonicalRecords, publishedLedger } from '../../support/independent-ledger/vectors.ts';

/** Any string of UTF-16 code units, including lone surrogates, with many characters that need an escape. */
const anyText = fc
  .array(
    fc.oneof(
      fc.integer({ min: 0, max: 0xffff }),
      fc.integer({ min: 0, max: 0x7f }),
      fc.integer({ min: 0xd800, max: 0xdfff }),
    ),
    { maxLength: 40 },
  )
  .map((units) => String.fromCharCode(...units));
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { nil: undefined });
const natural = fc.nat({ max: Number.MAX_SAFE_INTEGER });
/** No Instant reaches the end of the year 9999, the latest time of the format. */
const anyInstant = natural.map(instantFromMicros);

const anyRecord: fc.Arbitrary<LedgerRecord> = fc.record({
  seq: natural,
  checkpoint: optional(natural),
  at: anyInstant,
  event: anyText,
  taskId: optional(anyText),
  agentId: optional(anyText),
  sponsor: optional(anyText),
  audience: optional(anyText),
  scope: optional(anyText),
  jti: optional(anyText),
  delegationDepth: optional(natural),
  decision: optional(fc.constantFrom('allow' as const, 'deny' as const)),
  reason: optional(anyText),
  count: optional(natural),
  detail: optional(anyText),
});

const anyCheckpoint: fc.Arbitrary<Checkpoint> = fc.record({
  checkpointId: natural,
  firstSeq: natural,
  lastSeq: natural,
  treeSize: natural,
  rootHash: anyText,
  prevCheckpointHash: optional(anyText),
  closedAt: anyInstant,
  kid: anyText,
  signature: anyText,
});

describe('the canonical JSON of a record', () => {
  for (const { about, record, canonical_json } of canonicalRecords) {
    it(`equals the published vector for ${about}, byte for byte`, () => {
      expect(canonicalRecord(readRecord(record))).to.equal(canonical_json);
    });
  }

  it('follows the specification for any record', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        expect(canonicalRecord(record)).to.equal(canonicalRecordForm(presentRecord(record)));
      }),
      { numRuns: 500 },
    );
  });

  it('is printable ASCII, and parses as JSON with the same values', () => {
    fc.assert(
      fc.property(anyRecord, (record) => {
        const canonical = canonicalRecord(record);
        const { seq, checkpoint, ...meaning } = presentRecord(record);
        expect(canonical).to.match(/^[ -~]*$/);
        expect(JSON.parse(canonical)).to.deep.equal(meaning);
      }),
    );
  });

  it('omits seq and checkpoint, and rounds ts down to the millisecond', () => {
    const [{ record = {} } = {}] = canonicalRecords;
    const one = readRecord(record);
    const same = { ...one, seq: 4711, checkpoint: 12, at: instantFromMicros(one.at + 999) };
    expect(canonicalRecord(same)).to.equal(canonicalRecord(one));
    expect(canonicalRecord({ ...one, at: instantFromMicros(one.at + 1000) })).to.not.equal(canonicalRecord(one));
  });

  it('quotes text in a number field, so that the text cannot look like members', () => {
    const [{ record = {} } = {}] = canonicalRecords;
    const sound = { ...readRecord(record), delegationDepth: 1, detail: 'as sealed' };
    // A database without strict column types could return this.
    const forged: LedgerRecord = JSON.parse(JSON.stringify({ ...sound, delegationDepth: '1,"detail":"as sealed"' }));
    expect(canonicalRecord({ ...forged, detail: undefined })).to.not.equal(canonicalRecord(sound));
  });
});

describe('the canonical JSON of a checkpoint', () => {
  for (const checkpoint of publishedLedger.checkpoints) {
    it(`equals the signed text of the published checkpoint ${checkpoint.checkpoint_id}, byte for byte`, () => {
      expect(canonicalCheckpoint(readCheckpoint(checkpoint))).to.equal(checkpoint.signed_bytes);
    });
  }

  it('follows the specification for any checkpoint', () => {
    fc.assert(
      fc.property(anyCheckpoint, (checkpoint) => {
        expect(canonicalCheckpoint(checkpoint)).to.equal(canonicalCheckpointForm(presentCheckpoint(checkpoint)));
      }),
    );
  });
});
