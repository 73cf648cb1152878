import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Collector, openCollector } from '../../../scripts/faults/stage/collector.ts';

// A file, for its thread as well: Node does not preload anything for one that evaluates a string.
const PROGRAM = fileURLToPath(new URL('letting-go.mjs', import.meta.url));
/** Or V8 would collect by itself, in a process that has nothing to do. */
const NOT_BY_ITSELF = '--no-memory-reducer';

describe('a collector of garbage', () => {
  let collector: Collector;
  let child: ChildProcess;
  let said = '';
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    collector = openCollector();
    const args = [NOT_BY_ITSELF, ...collector.preload, PROGRAM];
    child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    await saying(/thread ready/);
  });
  after(() => {
    child?.kill('SIGKILL');
    collector?.close();
  });

  const saying = async (what: RegExp) => {
    while (!what.test(said) && child.stdout !== null) await once(child.stdout, 'data');
  };

  it('has every thread collect, and says what is left', async () => {
    const { megabytes, heapMegabytes } = await collector.collect(child.pid ?? 0);
    await Promise.all([saying(/main gone/), saying(/thread gone/)]);
    expect(heapMegabytes).to.be.above(1).and.below(megabytes);
  });
});
