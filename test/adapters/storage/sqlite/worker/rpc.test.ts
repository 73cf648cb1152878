import { expect } from 'chai';
import { deserializeError, serializeError } from '../../../../../adapters/storage/sqlite/worker/errors.ts';
import { connectTo } from '../../../../../adapters/storage/sqlite/worker/rpc.ts';
import { reportError } from '../../../../../adapters/telemetry/error-report.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';
import { thrownBy } from '../../../../support/thrown-by.ts';
import { type Started, servingWorker, started } from './started.ts';

describe('A database worker', () => {
  let running: Started;
  beforeEach(async () => {
    running = await started();
  });
  afterEach(() => running.client.close());

  it('returns the result of a method unchanged', async () => {
    const { call } = running;
    const given = [{ a: 1, b: undefined, c: [true, null, 'text'] }, new Uint8Array([1, 2]), undefined];
    expect(await call('echo', ...given)).to.deep.equal(given);
  });

  it('refuses a method that it does not have', async () => {
    const thrown = await thrownBy(running.client.call('constructor' as 'echo', [], 1_000));
    expect(String(thrown)).to.include('no such method');
  });

  it('sends the calls of one event loop turn in one message, and their results in another', async () => {
    const { call, worker } = running;
    let [sent, received] = [0, 0];
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message: unknown) => {
      sent++;
      post(message);
    };
    worker.on('message', () => received++);
    const numbers = Array.from({ length: 15 }, (_, nth) => nth);
    const answers = await Promise.all(numbers.map((nth) => call('echo', nth)));
    expect(answers).to.deep.equal(numbers.map((nth) => [nth]));
    expect({ sent, received }).to.deep.equal({ sent: 1, received: 1 });
  });

  it('sends sixteen calls at once, so that the thread works while this one goes on with its turn', async () => {
    const { call, worker } = running;
    const sent: number[] = [];
    const post = worker.postMessage.bind(worker);
    worker.postMessage = (message: readonly unknown[]) => {
      sent.push(message.length);
      post(message);
    };
    const numbers = Array.from({ length: 50 }, (_, nth) => nth);
    const answers = Promise.all(numbers.map((nth) => call('echo', nth)));
    expect(sent).to.deep.equal([16, 16, 16]);
    expect(await answers).to.deep.equal(numbers.map((nth) => [nth]));
    expect(sent).to.deep.equal([16, 16, 16, 2]);
  });

  it('returns results in the order in which calls end', async () => {
    const { call } = running;
    const order: unknown[] = [];
    const slow = call('held', 'slow').then((answer) => order.push(answer));
    await call('echo', 'quick').then(() => order.push('quick'));
    await call('release');
    await slow;
    expect(order).to.deep.equal(['quick', 'slow']);
  });

  it('throws StorageUnavailable if the worker throws it, with the class, code and stack of its cause', async () => {
    const thrown = await thrownBy(running.call('away'));
    expect(thrown).to.be.instanceOf(StorageUnavailable);
    const report = reportError(thrown);
    expect(report.class).to.equal('StorageUnavailable');
    expect(report.cause?.code).to.equal('SQLITE_BUSY');
    expect(report.stack?.[0]).to.include('serving-thread.ts');
    expect(report.cause?.stack?.[0]).to.include('serving-thread.ts');
  });

  it('throws any other error of the worker with its class, code and stack', async () => {
    const thrown = await thrownBy(running.call('bug'));
    expect(thrown).to.be.instanceOf(RangeError).and.not.instanceOf(StorageUnavailable);
    expect(reportError(thrown)).to.deep.include({ class: 'RangeError', code: 'ERR_OUT_OF_RANGE' });
    expect(reportError(thrown).stack?.[0]).to.include('serving-thread.ts');
    expect(await thrownBy(running.call('text'))).to.be.instanceOf(Error);
  });

  it('refuses only a call whose arguments or result cannot be cloned', async () => {
    const { call } = running;
    const [given, answered, fine] = await Promise.allSettled([
      call('echo', () => undefined),
      call('unsendable'),
      call('echo', 'fine'),
    ]);
    expect([given.status, answered.status]).to.deep.equal(['rejected', 'rejected']);
    expect(fine).to.deep.equal({ status: 'fulfilled', value: ['fine'] });
  });

  it('finishes calls under way before it closes, and is unavailable afterwards', async () => {
    const { call } = running;
    const held = call('held', 'kept');
    await call('echo', 'it is under way');
    const released = call('release');
    const closed = running.client.close();
    expect(await thrownBy(call('echo', 'too late'))).to.be.instanceOf(StorageUnavailable);
    expect(await held).to.equal('kept');
    await released;
    await closed;
    expect(await running.client.ended).to.equal(undefined);
    expect(await thrownBy(call('echo', 'too late'))).to.be.instanceOf(StorageUnavailable);
  });

  for (const death of ['uncaught', 'exit', 'memory'] as const) {
    it(`fails its unanswered calls with StorageUnavailable when its method ${death} ends it`, async () => {
      const { call } = running;
      const [waiting, dying] = [thrownBy(call('never')), thrownBy(call(death))];
      expect(await waiting).to.be.instanceOf(StorageUnavailable);
      expect(await dying).to.be.instanceOf(StorageUnavailable);
      expect(await running.client.ended).to.have.property('fault');
      expect(await thrownBy(call('echo', 'later'))).to.be.instanceOf(StorageUnavailable);
    });
  }

  it('reports the error that ended it as the cause', async () => {
    const thrown = await thrownBy(running.call('uncaught'));
    expect(reportError(thrown).cause).to.deep.include({ class: 'Error', code: 'E_UNCAUGHT' });
  });

  it('fails a call with StorageUnavailable after its time limit, and answers later calls', async () => {
    const impatient = await started(1);
    expect(await thrownBy(impatient.call('never'))).to.be.instanceOf(StorageUnavailable);
    expect(await impatient.client.call('echo', ['after'], 60_000)).to.deep.equal(['after']);
    const closing = impatient.client.close();
    await impatient.worker.terminate();
    await closing;
  });

  it('throws the error of a failed start', async () => {
    const thrown = await thrownBy(connectTo(servingWorker('cannot open')));
    expect(thrown).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
    expect(reportError(thrown).code).to.equal('SQLITE_CANTOPEN');
  });
});

const carried = (thrown: unknown): Error => deserializeError(structuredClone(serializeError(thrown)));

describe('A serialized error', () => {
  it('keeps the class, code, stack and causes of the error', () => {
    const innermost = Object.assign(new TypeError('three\n    at words (of/a:1:1)'), { code: 'E_THREE' });
    const middle = Object.assign(new RangeError('two', { cause: innermost }), { code: 2 });
    const outer = new StorageUnavailable('one', { cause: middle });
    expect(reportError(carried(outer))).to.deep.equal(reportError(outer));
    expect(carried(outer)).to.be.instanceOf(StorageUnavailable);
    expect(carried(outer).message).to.equal('one');
  });

  it('becomes an error without the value when the thrown value is not an error', () => {
    for (const thrown of ['secret text', undefined, null, { message: 'secret text' }]) {
      expect(carried(thrown)).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
      expect(carried(thrown).message).not.to.include('secret');
    }
  });

  it('may have a cycle of causes and members that cannot be cloned', () => {
    const ring = Object.assign(new Error('ring'), { open: () => undefined });
    ring.cause = ring;
    expect(carried(ring).message).to.equal('ring');
  });
});
