/** Whether events can be written. ./run-guard.test.ts has the program with a full disk, and with a pipe without a reader. */

import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect } from 'chai';
import { accessEvent } from '../../../adapters/sdk/tool-server/core/access-event.ts';
import { EventUnwritten, eventOutput } from '../../../composition/guard/event-output.ts';
import { guardLog } from '../../../composition/guard/guard-log.ts';

const event = accessEvent({ at: 0, route: 'GET /a', reason: null, signed: undefined });
const LINE = `${JSON.stringify(event)}\n`;

describe('The output of events', () => {
  let room: number;
  let written: string;
  let logged: PassThrough;
  beforeEach(() => {
    [room, written, logged] = [Number.POSITIVE_INFINITY, '', new PassThrough()];
  });

  /** As a file on a disk with so much room: it takes a part of a text, then fails. */
  const disk = (isLasting = false) => ({
    isLasting,
    write(whole: string) {
      written += whole.slice(0, room);
      room -= whole.length;
      if (room < 0) {
        room = 0;
        throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      }
    },
  });
  const output = (isLasting?: boolean) => eventOutput(guardLog(logged), disk(isLasting));
  const messages = async () => {
    logged.end();
    const lines = (await text(logged)).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line).message);
  };
  const outcome = (writing: Promise<void>) =>
    writing.then(
      () => 'written',
      (error) => error instanceof EventUnwritten,
    );

  it('is unhealthy from an event that is not written whole until one is, whose line is whole', async () => {
    const events = output();
    expect([await outcome(events.write(event)), events.isWritable()]).to.deep.equal(['written', true]);
    room = 10;
    expect([await outcome(events.write(event)), events.isWritable()]).to.deep.equal([true, false]);
    expect(await outcome(events.write(event))).to.equal(true);
    room = 1000;
    expect([await outcome(events.write(event)), events.isWritable()]).to.deep.equal(['written', true]);
    expect(written).to.equal(`${LINE}${LINE.slice(0, 10)}\n${LINE}`);
    expect(await messages()).to.deep.equal([
      'events cannot be written: every request that needs a token is refused',
      'events can be written again',
    ]);
  });

  it('is healthy again when the disk has room, also if no request comes', async () => {
    const events = output();
    room = 0;
    await outcome(events.write(event));
    expect([events.isWritable(), events.isWritable()]).to.deep.equal([false, false]);
    room = 1000;
    expect([events.isWritable(), events.isWritable()]).to.deep.equal([true, true]);
    await events.write(event);
    expect(written).to.equal(`\n${LINE}`);
    expect(await messages()).to.have.lengthOf(2);
  });

  it('reports an output that has ended for good, and writes nothing to find out', async () => {
    const events = output(true);
    room = 0;
    let isClosed = false;
    void events.closed.then(() => {
      isClosed = true;
    });
    await outcome(events.write(event));
    room = 1000;
    expect([events.isWritable(), isClosed, written]).to.deep.equal([false, true, '']);
  });
});
