import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect } from 'chai';
import { openHandle } from '../../../../adapters/storage/sqlite/handle.ts';

/** Collects all garbage. After the flag is set, only new contexts have the function `gc`. */
async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  // A new WeakRef keeps its target until the event loop turn ends.
  await nextTurn();
  collect();
}

describe('a SQLite handle', () => {
  it('keeps its database and its statements from garbage collection', async () => {
    const refs = (() => {
      const handle = openHandle(':memory:');
      return [new WeakRef(handle), new WeakRef(handle.prepare('select 1')), new WeakRef(handle.prepare('select 2'))];
    })();
    const unreferenced = new WeakRef({});
    await collectGarbage();
    expect(unreferenced.deref(), 'an object that nothing references').to.equal(undefined);
    for (const ref of refs) expect(ref.deref()).not.to.equal(undefined);
  });
});
