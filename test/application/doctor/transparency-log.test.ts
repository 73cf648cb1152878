import { expect } from 'chai';
import { judgeLog } from '../../../application/doctor/transparency-log.ts';
import type { LogState, WitnessProblem } from '../../../application/ports/transparency-log.ts';
import { NOON } from '../../support/domain-fixtures.ts';

const LOG = { origin: 'mandate.test/ledger', witnesses: ['w.test/1', 'w.test/2'] };

function state(changes: Partial<LogState> = {}): LogState {
  const published = { size: 9, note: 'a note' };
  return {
    origin: LOG.origin,
    size: 9,
    root: '',
    note: 'a note',
    published,
    isWithheld: false,
    halted: undefined,
    ...changes,
  };
}

function problem(kind: WitnessProblem['kind'], changes: Partial<WitnessProblem> = {}): WitnessProblem {
  return { witness: 'w.test/1', kind, detail: undefined, since: NOON, ...changes };
}

describe('The doctor, of the log', () => {
  const behind = state({ published: { size: 8, note: 'an older note' } });
  const of = (found: LogState | undefined, problems: readonly WitnessProblem[] = [], newest = 9) => {
    const { status, sentence } = judgeLog(found, LOG, newest, problems);
    return `${status}: ${sentence}`;
  };

  it('has nothing to say before the log begins, and is content if it grows', () => {
    expect(of(undefined)).to.match(/^skipped: There is no log yet/);
    expect(of(state())).to.equal('ok: The log has 9 of 9 checkpoints.');
  });

  it('finds another origin, a halt, and a log that does not grow or is not published', () => {
    expect(of(state({ origin: 'another.test' }))).to.match(/^failed: The stored log is another\.test, but /);
    expect(of(state({ halted: 'For a reason.' }), [problem('unavailable')])).to.equal(
      'failed: The log signs no further tree. For a reason.',
    );
    expect(of(state(), [], 13)).to.equal('warning: The log has 9 of 13 checkpoints.');
    expect(of(state({ ...behind, isWithheld: true }))).to.equal(
      'failed: Readers do not get the newest note, of 9 leaves: the database says that a witness contradicted it.',
    );
    expect(of(state({ published: undefined }))).to.match(/^warning: .* publishes 0: witnesses do not cosign the rest/);
  });

  for (const [kind, sentence, detail] of [
    ['contradicted', 'has cosigned another history of the log.'],
    ['unknown_key', 'does not accept the key of the log.'],
    ['unknown_log', 'does not watch the log.'],
    ['ahead', 'has cosigned a larger tree: 12 leaves, and the database has 9.', '12 leaves, and the database has 9.'],
  ] as const) {
    it(`fails, and names the witness, if it ${sentence}`, () => {
      const found = [problem('unavailable', { witness: 'w.test/2' }), problem(kind, { detail })];
      expect(of(state(), found)).to.equal(`failed: The witness w.test/1 ${sentence}`);
    });
  }

  it('warns of a witness that does not answer, also if readers get the newest tree, and of no former witness', () => {
    const found = [problem('unavailable', { detail: 'There was no answer.' })];
    for (const log of [state(), behind]) {
      expect(of(log, found)).to.equal('warning: The witness w.test/1 does not answer. There was no answer.');
    }
    const two = [problem('wrong_answer'), problem('unavailable', { witness: 'w.test/2' })];
    expect(of(state(), two)).to.equal(
      'warning: The witness w.test/1 gave an answer that cannot be used. The witness w.test/2 does not answer.',
    );
    expect(of(behind, [problem('contradicted', { witness: 'former.test' })])).to.match(/^ok/);
  });

  it('warns of a witness with a wrong clock, and says which clocks to compare', () => {
    const finding = judgeLog(state(), LOG, 9, [
      problem('wrong_clock', { detail: 'It dated a cosignature 1970-01-01T00:00:00.000Z.' }),
    ]);
    expect(finding).to.deep.include({
      status: 'warning',
      sentence:
        'The witness w.test/1 has a wrong clock, or this service has one. It dated a cosignature 1970-01-01T00:00:00.000Z.',
    });
    expect(finding.remedy).to.match(/^Compare the clocks of both machines/);
  });
});
