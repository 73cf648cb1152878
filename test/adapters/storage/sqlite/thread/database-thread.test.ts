import { expect } from 'chai';
import { startThread } from '../../../../../adapters/storage/sqlite/thread/database-thread.ts';
import { reportError } from '../../../../../adapters/telemetry/error-report.ts';
import { StorageUnavailable } from '../../../../../application/ports/storage.ts';
import { capturedLog } from '../../../../support/captured-log.ts';
import { type Started, servingWorker, started, thrownBy } from './started.ts';

describe('a database thread', () => {
  let running: Started;
  beforeEach(async () => {
    running = await started();
  });
  afterEach(() => running.thread.close());

  it('looks like what it serves, and answers with what was answered there', async () => {
    const { serving } = running;
    expect(serving.name).to.equal('serving thread');
    const given = [{ a: 1, b: undefined, c: [true, null, 'text'] }, new Uint8Array([1, 2]), undefined];
    expect(await serving.answers.echo(...given)).to.deep.equal(given);
  });

  it('carries the calls of one turn in one message, and the answers to them in one', async () => {
    const { serving, worker } = running;
    let [sent, received] = [0, 0];
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message: unknown) => {
      sent++;
      post(message);
    };
    worker.on('message', () => received++);
    const numbers = Array.from({ length: 50 }, (_, nth) => nth);
    const answers = await Promise.all(numbers.map((nth) => serving.answers.echo(nth)));
    expect(answers).to.deep.equal(numbers.map((nth) => [nth]));
    expect({ sent, received }).to.deep.equal({ sent: 1, received: 1 });
  });

  it('answers a call that comes later first, when it is done first', async () => {
    const { answers } = running.serving;
    const order: unknown[] = [];
    const slow = answers.held('slow').then((answer) => order.push(answer));
    await answers.echo('quick').then(() => order.push('quick'));
    await answers.release();
    await slow;
    expect(order).to.deep.equal(['quick', 'slow']);
  });

  it('throws a StorageUnavailable as one, with what the log needs of its cause', async () => {
    const thrown = await thrownBy(running.serving.faults.away());
    expect(thrown).to.be.instanceOf(StorageUnavailable);
    const report = reportError(thrown);
    expect(report.class).to.equal('StorageUnavailable');
    expect(report.cause?.code).to.equal('SQLITE_BUSY');
    expect(report.stack?.[0]).to.include('serving-thread.ts');
    expect(report.cause?.stack?.[0]).to.include('serving-thread.ts');
  });

  it('throws anything else as an error that is none of the database, with class, code and stack', async () => {
    const thrown = await thrownBy(running.serving.faults.bug());
    expect(thrown).to.be.instanceOf(RangeError).and.not.instanceOf(StorageUnavailable);
    expect(reportError(thrown)).to.deep.include({ class: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
    expect(reportError(thrown).stack?.[0]).to.include('serving-thread.ts');
    expect(await thrownBy(running.serving.faults.text())).to.be.instanceOf(Error);
  });

  it('refuses only the call whose arguments or answer cannot travel', async () => {
    const { answers } = running.serving;
    const [given, answered, fine] = await Promise.allSettled([
      answers.echo(() => undefined),
      answers.unsendable(),
      answers.echo('fine'),
    ]);
    expect([given.status, answered.status]).to.deep.equal(['rejected', 'rejected']);
    expect(fine).to.deep.equal({ status: 'fulfilled', value: ['fine'] });
  });

  it('writes the lines of the thread to the log of the main one', async () => {
    await running.serving.log.write();
    expect(running.log.lines.map((line) => JSON.parse(line))).to.deep.equal([
      { level: 'info', message: 'an information', rows: 7 },
      { level: 'warn', message: 'a warning', detail: 'of something' },
      { level: 'error', message: 'an error', cause: 'Error', page: 3 },
    ]);
  });

  it('finishes what is under way before it closes, and is unavailable from then on', async () => {
    const { answers } = running.serving;
    const held = answers.held('kept');
    await answers.echo('it is under way');
    const released = answers.release();
    const closed = running.thread.close();
    expect(await thrownBy(answers.echo('too late'))).to.be.instanceOf(StorageUnavailable);
    expect(await held).to.equal('kept');
    await released;
    await closed;
    expect(await running.thread.ended).to.equal(undefined);
    expect(running.log.lines.map((line) => JSON.parse(line).message)).to.deep.equal(['closed']);
    expect(await thrownBy(answers.echo('too late'))).to.be.instanceOf(StorageUnavailable);
  });

  for (const death of ['uncaught', 'exit', 'memory'] as const) {
    it(`refuses as unavailable all that it leaves unanswered when it dies: ${death}`, async () => {
      const { answers, deaths } = running.serving;
      const [waiting, dying] = [thrownBy(answers.never()), thrownBy(deaths[death]())];
      expect(await waiting).to.be.instanceOf(StorageUnavailable);
      expect(await dying).to.be.instanceOf(StorageUnavailable);
      expect(await running.thread.ended).to.have.property('fault');
      expect(await thrownBy(answers.echo('later'))).to.be.instanceOf(StorageUnavailable);
    });
  }

  it('says what it died of', async () => {
    const thrown = await thrownBy(running.serving.deaths.uncaught());
    expect(reportError(thrown).cause).to.deep.include({ class: 'Error', code: 'E_UNCAUGHT' });
  });

  it('refuses as unavailable what stays unanswered beyond its limit, and goes on', async () => {
    const impatient = await started(1);
    expect(await thrownBy(impatient.serving.answers.never())).to.be.instanceOf(StorageUnavailable);
    expect(await impatient.thread.call('answers.echo', ['after'], 60_000)).to.deep.equal(['after']);
    const closing = impatient.thread.close();
    await impatient.worker.terminate();
    await closing;
  });

  it('throws what kept it from opening', async () => {
    const thrown = await thrownBy(startThread(servingWorker('cannot open'), capturedLog()));
    expect(thrown).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
    expect(reportError(thrown).code).to.equal('SQLITE_CANTOPEN');
  });
});
