import { expect } from 'chai';
import { deserializeError, serializeError } from '../../../../../adapters/storage/sqlite/worker/errors.ts';
import { reportError } from '../../../../../adapters/telemetry/error-report.ts';
import { StorageUnavailable } from '../../../../../application/ports/decisions.ts';

const carried = (thrown: unknown): Error => deserializeError(structuredClone(serializeError(thrown)));

describe('an error that is carried between threads', () => {
  it('is reported as if it had not been, in class, code, stack and causes', () => {
    const innermost = Object.assign(new TypeError('three\n    at words (of/a:1:1)'), { code: 'E_THREE' });
    const middle = Object.assign(new RangeError('two', { cause: innermost }), { code: 2 });
    const outer = new StorageUnavailable('one', { cause: middle });
    expect(reportError(carried(outer))).to.deep.equal(reportError(outer));
    expect(carried(outer)).to.be.instanceOf(StorageUnavailable);
    expect(carried(outer).message).to.equal('one');
  });

  it('is an error even when what was thrown was none, and repeats nothing of it', () => {
    for (const thrown of ['secret text', undefined, null, { message: 'secret text' }]) {
      expect(carried(thrown)).to.be.instanceOf(Error).and.not.instanceOf(StorageUnavailable);
      expect(carried(thrown).message).not.to.include('secret');
    }
  });

  it('arrives although its causes are a ring, or its members cannot be cloned', () => {
    const ring = Object.assign(new Error('ring'), { open: () => undefined });
    ring.cause = ring;
    expect(carried(ring).message).to.equal('ring');
  });
});
