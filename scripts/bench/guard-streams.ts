/**
 * The memory of the guard with idle streams of server-sent events, also after all have been closed and opened again. Each
 * stream has its own client, token and connection to the upstream. Beside it, the memory of a bare proxy:
 *
 *     node --import ./scripts/typescript-loader.mjs scripts/bench/guard-streams.ts [streams]
 *
 * A process with so many streams opens twice as many files (`ulimit -n`). `NODE_OPTIONS` holds for both. Exits with 1 if the
 * guard misses the goal when the streams are open for the first time.
 */

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { type Cleanup, withCleanup } from '../cleanup.ts';
import { describeMachine, residentMegabytes } from '../machine.ts';
import { startChildServer } from './child-server.ts';
import { guarded } from './guarded.ts';
import { FIRST_EVENT } from './guarded-answers.ts';
import { type Target, toBytes } from './load.ts';

const GOAL_MEGABYTES = 300;
/** Streams that are opened at once. */
const AT_ONCE = 100;
/** Until then the garbage of the opening is collected. */
const SETTLE_MS = 15_000;

async function main(streams: number): Promise<void> {
  for (const line of describeMachine(new Date())) console.log(`- ${line}`);
  await measured('a bare proxy', streams, async (upstream, cleanup) => {
    const proxy = await startChildServer('bare-proxy.ts', upstream);
    cleanup(proxy.stop);
    return { ...proxy, token: () => '' };
  });
  const megabytes = await measured('the guard', streams, async (upstream, cleanup) => {
    const { plane, startGuard } = await guarded(cleanup);
    const routes = ['routes:', '  - {match: GET /events, scope: [jira:read]}'];
    const guard = await startGuard(['mode: proxy', `upstream: ${upstream}`, ...routes]);
    return { ...guard, token: (nth) => plane.token({ jti: `tok_${nth}` }) };
  });
  const isReached = megabytes < GOAL_MEGABYTES;
  console.log(`- less than ${GOAL_MEGABYTES} MB for ${streams} streams: ${isReached ? 'reached' : 'NOT reached'}`);
  if (!isReached) process.exitCode = 1;
}

interface Proxy {
  readonly target: Target;
  readonly pid: number;
  readonly token: (nth: number) => string;
}

/** @returns its resident memory in MB while all streams are open */
function measured(
  name: string,
  streams: number,
  start: (upstream: string, cleanup: Cleanup) => Promise<Proxy>,
): Promise<number> {
  return withCleanup(async (cleanup) => {
    const upstream = await startChildServer('guarded-upstream.ts');
    cleanup(upstream.stop);
    const { target, pid, token } = await start(upstream.origin, cleanup);
    const resident = (field: 'VmRSS' | 'VmHWM') => residentMegabytes(pid, field) ?? Number.NaN;
    const sockets: Socket[] = [];
    const closeAll = (): void => {
      for (const socket of sockets.splice(0)) socket.destroy();
    };
    cleanup(closeAll);
    const open = async (): Promise<void> => {
      const socket = connect({ ...target, noDelay: true });
      const headers = { accept: 'text/event-stream', authorization: `Bearer ${token(sockets.push(socket))}` };
      socket.write(toBytes(target, { method: 'GET', path: '/events', headers }));
      await untilFirstEvent(socket);
    };
    /** @returns the resident memory when the garbage of the opening is collected */
    const openAll = async (): Promise<number> => {
      while (sockets.length < streams) {
        await Promise.all(Array.from({ length: Math.min(AT_ONCE, streams - sockets.length) }, open));
      }
      await pause(SETTLE_MS);
      if (sockets.some(({ readable }) => !readable)) throw new Error(`${name} has cut a stream`);
      return resident('VmRSS');
    };
    await open();
    const before = resident('VmRSS');
    const after = await openAll();
    closeAll();
    await pause(SETTLE_MS);
    const again = await openAll();
    const each = ((after - before) * 1024) / (streams - 1);
    console.log(
      `${name}: ${before.toFixed(0)} MB with one stream, ${after.toFixed(0)} MB with ${streams} ` +
        `(${each.toFixed(1)} kB each), ${again.toFixed(0)} MB with as many again, at most ${resident('VmHWM').toFixed(0)} MB`,
    );
    return after;
  });
}

async function untilFirstEvent(socket: Socket): Promise<void> {
  for (let received = ''; !received.includes(FIRST_EVENT); ) {
    const [chunk] = await once(socket, 'data');
    received += String(chunk);
  }
  socket.resume();
}

const [streams = '10000'] = process.argv.slice(2);
if (!/^[1-9]\d{0,5}$/.test(streams)) {
  console.error('guard-streams.ts [streams]');
  process.exitCode = 2;
} else {
  await main(Number(streams));
}
