/**
 * A program: the guard, whose timers run 500 times as fast. It sends its port to its parent process. When the parent sends a
 * number of milliseconds, it answers after so many have passed on these timers. It is a process, because the timers of the
 * tests must not hurry. The time limits of connections are of Node, and do not.
 *
 *     hurried-guard.ts <configuration of the guard, in JSON>
 */

import { startGuard } from '../../../adapters/sdk/tool-server/guard/guard.ts';
import { startServer } from './served-guard.ts';

const FASTER = 500;

const inTime = globalThis.setTimeout;
const hurried = (run: (...args: unknown[]) => void, ms = 0, ...args: unknown[]) => inTime(run, ms / FASTER, ...args);
globalThis.setTimeout = Object.assign(hurried, inTime) as typeof setTimeout;

const guard = await startGuard(JSON.parse(process.argv[2] ?? ''), {
  onAccess: () => undefined,
  onError: (error) => console.error(String(error)),
  startServer,
});
process.on('message', (ms) => setTimeout(() => process.send?.('passed'), Number(ms)));
process.send?.(guard.address.port);
