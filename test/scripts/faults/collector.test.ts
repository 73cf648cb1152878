import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Collector, openCollector } from '../../../scripts/faults/collector.ts';

// The worker thread runs a file, because Node preloads no module for code in a string.
const PROGRAM = fileURLToPath(new URL('garbage.mjs', import.meta.url));
/** Without this option, an idle V8 would collect the garbage without a signal. */
const NO_IDLE_COLLECTION = '--no-memory-reducer';

describe('the garbage collector of a soak', () => {
  let collector: Collector;
  let child: ChildProcess;
  let output = '';
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    collector = openCollector();
    const args = [NO_IDLE_COLLECTION, ...collector.preload, PROGRAM];
    child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
    await printed(/thread ready/);
  });
  after(() => {
    child?.kill('SIGKILL');
    collector?.close();
  });

  const printed = async (text: RegExp) => {
    while (!text.test(output) && child.stdout !== null) await once(child.stdout, 'data');
  };

  it('collects in every thread, and reports the remaining heap', async () => {
    const { megabytes, heapMegabytes } = await collector.collect(child.pid ?? 0);
    await Promise.all([printed(/main gone/), printed(/thread gone/)]);
    expect(heapMegabytes).to.be.above(1).and.below(megabytes);
  });
});
