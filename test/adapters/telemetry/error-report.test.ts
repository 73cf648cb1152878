import { expect } from 'chai';
import { reportError } from '../../../adapters/telemetry/error-report.ts';

const SECRET = 'eyJhbGciOiJFUzI1NiJ9.a-token-that-was-sent';

class DriverError extends Error {
  override readonly name = 'DriverError';
  readonly code = '23505';
}

function thrownBy(act: () => unknown): Error {
  try {
    act();
  } catch (error) {
    if (error instanceof Error) return error;
  }
  throw new Error('No error was thrown.');
}

describe('The report of an error', () => {
  it('has the class, the code and the stack of the error', () => {
    const report = reportError(new DriverError(`duplicate key: (jti)=(${SECRET})`));
    expect(report).to.include({ class: 'DriverError', code: '23505' });
    expect(report.stack?.[0]).to.match(/^at .*error-report\.test\.ts:\d+:\d+\)$/);
  });

  const messages: readonly (readonly [string, string])[] = [
    ['has one line', SECRET],
    ['has several lines', `first ${SECRET}\nsecond ${SECRET}\n\n`],
    ['ends with a line like a stack frame', `refused\n    at ${SECRET} (/${SECRET}:1:1)`],
    ['consists of lines like stack frames', `\n    at a (/${SECRET}:1:1)\n    at b (node:${SECRET}:2:2)\n    at c`],
    ['equals the beginning of the class', 'Err'],
    ['is empty', ''],
  ];
  for (const [how, message] of messages) {
    it(`does not contain a message that ${how}`, () => {
      const report = reportError(new Error(message, { cause: new DriverError(message) }));
      expect(JSON.stringify(report)).not.to.contain('a-token');
      expect(report.stack).not.to.equal(undefined);
      expect(report.cause?.stack).to.have.length.greaterThan(0);
    });
  }

  it('does not contain the message of an error of the runtime', () => {
    const report = reportError(thrownBy(() => JSON.parse(`{"grant": ${SECRET}}`)));
    expect(report.class).to.equal('SyntaxError');
    expect(report.stack?.[0]).to.equal('at JSON.parse (<anonymous>)');
    expect(JSON.stringify(report)).not.to.contain('a-token');
  });

  it('has the stack when the message was changed after the throw', () => {
    const error = new Error(`duplicate ${SECRET}`);
    error.message = `insert into grants values ('${SECRET}') - ${error.message}`;
    const report = reportError(error);
    expect(report.stack?.[0]).to.contain('error-report.test.ts');
    expect(JSON.stringify(report)).not.to.contain('a-token');
  });

  it('has stack frames in every form that the runtime writes', async () => {
    const fail = async () => {
      await Promise.resolve();
      throw new TypeError('no');
    };
    const caught = async () => {
      try {
        await Promise.all([fail()]);
      } catch (error) {
        return error;
      }
      return undefined;
    };
    const places = reportError(await caught()).stack?.map((line) => line.replace(/\(.*test\.ts.*/, '…'));
    expect(places?.slice(0, 3)).to.deep.equal(['at fail …', 'at async Promise.all (index 0)', 'at async caught …']);
  });

  it('has five causes at most', () => {
    const outer = new Error('outer', { cause: new DriverError('inner', { cause: 'a string' }) });
    expect(reportError(outer).cause).to.include({ class: 'DriverError', code: '23505' });
    expect(reportError(outer).cause?.cause).to.deep.equal({ class: 'string' });
    const ring: Error & { cause?: unknown } = new Error('ring');
    ring.cause = ring;
    expect(JSON.stringify(reportError(ring)).match(/"class"/g)).to.have.length(5);
  });

  it('has at most twenty stack frames', () => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 100;
    const deep = (levels: number): Error => (levels === 0 ? new Error('deep') : deep(levels - 1));
    try {
      expect(reportError(deep(50)).stack).to.have.length(20);
    } finally {
      Error.stackTraceLimit = limit;
    }
  });

  it('omits a code or a class that is not a word', () => {
    const odd = Object.assign(new Error('x'), { code: `${SECRET} and more` });
    expect(reportError(odd)).not.to.have.property('code');
    expect(reportError(Object.assign(new Error('x'), { code: 14 }))).to.include({ code: 14 });
    const unnamed = Object.assign(new Error('x'), { constructor: { name: `${SECRET} ` } });
    expect(reportError(unnamed)).to.include({ class: 'Error' });
  });

  const others: readonly (readonly [unknown, string])[] = [
    [SECRET, 'string'],
    [undefined, 'undefined'],
    [null, 'null'],
    [{ message: SECRET }, 'object'],
    [Symbol(SECRET), 'symbol'],
  ];
  for (const [thrown, type] of others) {
    it(`has only the type of a thrown ${type}`, () => expect(reportError(thrown)).to.deep.equal({ class: type }));
  }

  it('has the class "unreadable" for an error that throws when its stack is read', () => {
    const hostile = new Error('x');
    Object.defineProperty(hostile, 'stack', {
      get() {
        throw new Error(SECRET);
      },
    });
    expect(reportError(hostile)).to.deep.equal({ class: 'unreadable' });
  });
});
