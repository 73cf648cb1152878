import { expect } from 'chai';
import { OUTAGE_LINE_MS, outageLog } from '../../../adapters/telemetry/outage-log.ts';
import { StorageUnavailable } from '../../../application/ports/decisions.ts';
import { capturedLog } from '../../support/captured-log.ts';

const full = { code: '53100', meaning: 'a disk is full', act: 'Make room.' };
const locked = { code: '55P03', meaning: 'another session holds a lock', act: 'End it.' };

describe('The log of outages', () => {
  let now: number;
  let captured: ReturnType<typeof capturedLog>;
  let log: ReturnType<typeof outageLog>;
  beforeEach(() => {
    now = 0;
    captured = capturedLog();
    log = outageLog(captured, () => now);
  });

  const outage = (fault = full) =>
    new StorageUnavailable('Postgres did not answer', { cause: new Error('ada@corp.example'), fault });
  const said = () => captured.lines.map((line) => JSON.parse(line));

  it('has a sentence with the code and its meaning, without a cause, once in ten seconds', () => {
    for (let time = 0; time < 500; time++) log.error('it failed', outage(), { trace_id: `${time}` });
    now += OUTAGE_LINE_MS - 1;
    log.error('it failed', outage());
    expect(said()).to.deep.equal([
      { level: 'error', message: 'it failed: a disk is full (53100)', cause: 'undefined', trace_id: '0' },
    ]);
    now += 1;
    log.error('it failed', outage());
    expect(captured.lines).to.have.length(2);
  });

  it('has a line for each cause and each job, and names an outage without a code by its own words', () => {
    log.error('it failed', outage());
    log.error('it failed', outage(locked));
    log.error('it failed', new StorageUnavailable('The database thread has ended'));
    for (const pass of ['sealing', 'sweeping', 'sealing']) log.error('a pass failed', outage(), { pass });
    expect(said().map(({ message, pass }) => [message, pass])).to.deep.equal([
      ['it failed: a disk is full (53100)', undefined],
      ['it failed: another session holds a lock (55P03)', undefined],
      ['it failed: The database thread has ended', undefined],
      ['a pass failed: a disk is full (53100)', 'sealing'],
      ['a pass failed: a disk is full (53100)', 'sweeping'],
    ]);
  });

  it('leaves all other lines as they are', () => {
    for (let time = 0; time < 2; time++) log.error('a bug', new TypeError('x'), { time });
    log.warn('careful', { time: 2 });
    expect(said()).to.deep.equal([
      { level: 'error', message: 'a bug', cause: 'TypeError', time: 0 },
      { level: 'error', message: 'a bug', cause: 'TypeError', time: 1 },
      { level: 'warn', message: 'careful', time: 2 },
    ]);
  });
});
