/**
 * A program: the guard, whose timers and those of undici run 499 times as fast. It sends its port to its parent process.
 * When the parent sends a number of milliseconds, it answers after so many have passed on these timers. It is a process,
 * because undici keeps one timer for all its time limits.
 *
 *     hurried-guard.ts <configuration of the guard, in JSON>
 */

import { startGuard } from '../../../adapters/sdk/tool-server/guard/guard.ts';

/** The clock of undici's time limits advances by so many milliseconds each time its timer fires. Here it fires each millisecond. */
const TICK_MS = 499;

const inTime = globalThis.setTimeout;
const hurried = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => inTime(run, ms / TICK_MS, ...args);
globalThis.setTimeout = Object.assign(hurried, inTime) as typeof setTimeout;

const guard = await startGuard(JSON.parse(process.argv[2] ?? ''), {
  onAccess: () => undefined,
  onError: (error) => console.error(String(error)),
});
process.on('message', (ms) => {
  let left = Number(ms);
  const tick = (): void => {
    left -= TICK_MS;
    if (left > 0) setTimeout(tick, TICK_MS);
    else process.send?.('passed');
  };
  tick();
});
process.send?.(guard.address.port);
