import { once } from 'node:events';
import { PassThrough, Writable } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import { expect } from 'chai';
import fc from 'fast-check';
import { type LogOptions, winstonLog } from '../../../adapters/telemetry/winston-log.ts';
import type { LogFields } from '../../../application/ports/telemetry.ts';
import { instantFromMillis } from '../../../domain/instant.ts';
import { Secret } from '../../../domain/secret.ts';

const clock = { now: () => instantFromMillis(Date.UTC(2026, 10, 21, 4, 23, 30, 86)) };

/** A stream that collects its writes. */
function collected() {
  const writes: string[] = [];
  const stream = new Writable({
    write(chunk, _encoding, done) {
      writes.push(String(chunk));
      done();
    },
  });
  return { stream, writes, text: () => writes.join('') };
}

async function logged(act: (log: ReturnType<typeof winstonLog>) => void, options: Partial<LogOptions> = {}) {
  const { stream, text } = collected();
  const log = winstonLog({ clock, tty: false, stream, ...options });
  act(log);
  await log.close();
  return text();
}

const parsed = (text: string) =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('The log in JSON', () => {
  it('has one object a line with level, message, timestamp and the given fields', async () => {
    const text = await logged((log) => {
      const fields = { method: 'POST', status: 200, duration_ms: 3.41, aborted: true, reason: undefined, key: null };
      log.info('request', fields);
      log.warn('careful');
    });
    expect(text).to.equal(
      '{"level":"info","message":"request","timestamp":"2026-11-21T04:23:30.086Z","method":"POST","status":200,"duration_ms":3.41,"aborted":true,"key":null}\n' +
        '{"level":"warn","message":"careful","timestamp":"2026-11-21T04:23:30.086Z"}\n',
    );
  });

  it('has the class, code and stack of an error, without its message', async () => {
    const [line] = parsed(
      await logged((log) => {
        const driver = Object.assign(new RangeError('key (jti)=(secret) exists'), { code: '23505' });
        log.error('could not write', new Error('wrapping secret', { cause: driver }), { table: 'grants' });
      }),
    );
    expect(line).to.include({ level: 'error', message: 'could not write', table: 'grants' });
    expect(line?.cause).to.include({ class: 'Error' });
    expect(line?.cause).to.have.nested.property('cause.code', '23505');
    expect(line?.cause).to.have.nested.property('cause.stack[0]').that.contains('winston-log.test.ts');
    expect(JSON.stringify(line)).not.to.contain('secret');
  });

  it('has one line for each entry, which parses to the given fields', async () => {
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
    );
    const fields = fc.dictionary(fc.stringMatching(/^[a-z_"\\]{1,8}$/), value);
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'binary' }), fields, async (message, given) => {
        const text = await logged((log) => log.info(message, given));
        expect(text.split('\n')).to.have.length(2);
        const { level, message: said, timestamp, ...others } = parsed(text)[0] ?? {};
        expect([level, said, timestamp]).to.deep.equal(['info', message, '2026-11-21T04:23:30.086Z']);
        for (const [name, value] of Object.entries(given)) {
          const written = ['level', 'message', 'timestamp', 'cause'].includes(name) ? `${name}_` : name;
          // JSON has no negative zero.
          expect(others[written]).to.equal(value === 0 ? 0 : value);
        }
      }),
      { numRuns: 50 },
    );
  });

  it('renames a field that is called level, message, timestamp or cause', async () => {
    const [line] = parsed(
      await logged((log) => log.info('kept', { level: 'fake', message: 'fake', timestamp: 'fake', cause: 'fake' })),
    );
    expect(line).to.deep.equal({
      level: 'info',
      message: 'kept',
      timestamp: '2026-11-21T04:23:30.086Z',
      level_: 'fake',
      message_: 'fake',
      timestamp_: 'fake',
      cause_: 'fake',
    });
  });

  it('redacts a secret, and marks a value that JSON cannot hold', async () => {
    const ring: Record<string, unknown> = {};
    ring.ring = ring;
    const fields = { key: new Secret('sesame'), nested: { key: new Secret('sesame') }, ring, big: 1n, nan: Number.NaN };
    const text = await logged((log) => log.info('odd', fields as unknown as LogFields));
    expect(text).not.to.contain('sesame');
    expect(parsed(text)[0]).to.deep.include({
      key: '[redacted]',
      nested: { key: '[redacted]' },
      ring: '[unserialisable]',
      big: '[unserialisable]',
      nan: null,
    });
  });

  it('escapes every control character', async () => {
    const text = await logged((log) => log.info('a\u001b[2Jb\u009b2Jc\u007f', { route: 'x\r\u0085y' }));
    expect(text.slice(0, -1)).to.match(/^[ -~]+$/);
    expect(parsed(text)[0]).to.include({ message: 'a\u001b[2Jb\u009b2Jc\u007f', route: 'x\r\u0085y' });
  });

  it('escapes invisible characters and those that turn the direction of writing, also in a nested value', async () => {
    const name = 'ada\u202egro\u200b\u{e0041}\u00a0';
    const fields = { route: name, nested: { name } } as unknown as LogFields;
    const text = await logged((log) => log.info(name, fields));
    expect(text.slice(0, -1)).to.match(/^[ -~]+$/);
    expect(parsed(text)[0]).to.deep.include({ message: name, route: name, nested: { name } });
  });

  it('omits lines below its level', async () => {
    const text = await logged(
      (log) => {
        log.info('info');
        log.warn('warn');
        log.error('error', undefined);
      },
      { level: 'warn' },
    );
    expect(parsed(text).map(({ message }) => message)).to.deep.equal(['warn', 'error']);
  });
});

describe('The log on a terminal', () => {
  it('has a line with the time, the level, the message and the fields', async () => {
    const text = await logged(
      (log) => log.info('request', { method: 'POST', route: '/oauth2/token', status: 200, reason: undefined }),
      { tty: true },
    );
    expect(text).to.equal('04:23:30.086 INFO  request method=POST route=/oauth2/token status=200\n');
  });

  it('has an error and its causes below the line', async () => {
    const cause = Object.assign(new TypeError('secret'), { code: 'ECONNREFUSED' });
    const text = await logged((log) => log.error('no database', new Error('secret', { cause })), { tty: true });
    const lines = text.split('\n');
    expect(lines[0]).to.equal('04:23:30.086 ERROR no database');
    expect(lines[1]).to.equal('    Error');
    expect(lines[2]).to.match(/^ {8}at .*winston-log\.test\.ts/);
    expect(lines).to.include('    caused by TypeError (ECONNREFUSED)');
    expect(text).not.to.contain('secret');
  });

  it('quotes text that looks like another line, another field or a terminal command', async () => {
    const text = await logged(
      (log) => log.info('two\nlines', { route: 'a status=500', title: '\u001b[31mred\u009b' }),
      { tty: true },
    );
    expect(text).to.equal('04:23:30.086 INFO  "two\\nlines" route="a status=500" title="\\u001b[31mred\\u009b"\n');
  });
});

describe('The log', () => {
  it('writes the lines of one event loop turn asynchronously in one write', async () => {
    const { stream, writes } = collected();
    const log = winstonLog({ clock, tty: false, stream });
    await turn();
    for (let line = 0; line < 50; line += 1) log.info(`line ${line}`);
    expect(writes).to.deep.equal([]);
    await turn();
    expect(writes).to.have.length(1);
    log.info('another');
    await log.close();
    expect(writes).to.have.length(2);
    const messages = parsed(writes.join('')).map(({ message }) => message);
    expect(messages.slice(-2)).to.deep.equal(['line 49', 'another']);
  });

  it('has written every line to a slow stream when it is closed, and leaves the stream open', async () => {
    const received: string[] = [];
    const slow = new Writable({
      write(chunk, _encoding, done) {
        setImmediate(() => {
          received.push(String(chunk));
          done();
        });
      },
    });
    const log = winstonLog({ clock, tty: false, stream: slow });
    log.info('one');
    await turn();
    log.info('two');
    await log.close();
    expect(received.join('').split('\n')).to.have.length(3);
    expect(slow.writableEnded).to.equal(false);
  });

  it('drops lines while its stream is not read, and later logs their number', async () => {
    const stalled = new PassThrough();
    const log = winstonLog({ clock, tty: false, stream: stalled });
    await turn();
    const padding = 'x'.repeat(1024 * 1024);
    for (let line = 0; line < 40; line += 1) log.info('kept or lost', { line, padding });
    await turn();
    expect(stalled.writableLength).to.be.lessThan(34 * 1024 * 1024);
    let text = '';
    stalled.on('data', (chunk) => {
      text += String(chunk);
    });
    await once(stalled, 'drain');
    log.info('read again');
    log.info('and again');
    await log.close();
    const lines = parsed(text);
    const kept = lines.filter(({ message }) => message === 'kept or lost').length;
    const timestamp = '2026-11-21T04:23:30.086Z';
    expect(lines.slice(kept, -2)).to.deep.equal([
      { level: 'warn', message: 'log lines were lost', timestamp, lost: 40 - kept },
    ]);
    expect(lines.slice(-2).map(({ message }) => message)).to.deep.equal(['read again', 'and again']);
    expect(kept).to.be.within(30, 32);
  });

  it('accepts lines after its stream has failed', async () => {
    const broken = new Writable({
      write(_chunk, _encoding, done) {
        done(Object.assign(new Error('broken pipe'), { code: 'EPIPE' }));
      },
    });
    const log = winstonLog({ clock, tty: false, stream: broken });
    log.info('one');
    await turn();
    log.info('two');
    await log.close();
    expect(broken.destroyed).to.equal(true);
  });
});
