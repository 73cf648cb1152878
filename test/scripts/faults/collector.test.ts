import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect } from 'chai';
import { type Collector, openCollector } from '../../../scripts/faults/stage/collector.ts';

/** Each thread says when what it made and let go is gone. */
const LETTING_GO = `
  const gone = new FinalizationRegistry((who) => process.stdout.write(who + ' '));
  gone.register({}, require('node:worker_threads').isMainThread ? 'main' : 'thread');
  setInterval(() => {}, 1000);
`;
const PROGRAM = `
  const { Worker } = require('node:worker_threads');
  new Worker(${JSON.stringify(LETTING_GO)}, { eval: true }).on('online', () => process.stdout.write('online '));
  ${LETTING_GO}
`;

describe('a collector of garbage', () => {
  let collector: Collector;
  let child: ChildProcess;
  let said = '';
  before(async function () {
    if (process.platform !== 'linux') this.skip();
    collector = openCollector();
    child = spawn(process.execPath, [...collector.preload, '-e', PROGRAM], { stdio: ['ignore', 'pipe', 'inherit'] });
    child.stdout?.setEncoding('utf8').on('data', (text) => {
      said += text;
    });
    await saying(/online/);
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
    await Promise.all([saying(/main/), saying(/thread/)]);
    expect(heapMegabytes).to.be.above(1).and.below(megabytes);
  });
});
