/**
 * Answers of the upstream that wait for a slow client. undici 7 throws an error that no caller can catch, and the process
 * ends, if the upstream closes its connection while its answer is paused (issue 5360 of undici; its version 8, which does not,
 * needs a newer Node than the guard). So the answers go on before undici hears of the end of a connection: nothing more
 * can come on that one, and all others are paused again at their next part.
 */

import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher } from 'undici';

type PausedAnswer = Pick<Dispatcher.DispatchController, 'pause' | 'resume'>;

export interface PausedAnswers {
  /** Connects to the upstream, in place of undici's own connector. */
  readonly connect: buildConnector.connector;
  pause(answer: PausedAnswer): void;
  /** Soon: an answer can end, and its connection take the next one, while undici reads, and undici cannot read another then. */
  resume(answer: PausedAnswer): void;
  /** The answer is over. */
  forget(answer: PausedAnswer): void;
}

export function pausedAnswers(options: buildConnector.BuildOptions): PausedAnswers {
  const paused = new Set<PausedAnswer>();
  const resume = (answer: PausedAnswer): void => {
    if (paused.delete(answer)) answer.resume();
  };
  const open = buildConnector(options);
  return {
    connect: (to, done) =>
      open(to, (...connected) => {
        const [, socket] = connected;
        if (socket) watch(socket, () => [...paused].forEach(resume));
        done(...connected);
      }),
    pause(answer) {
      paused.add(answer);
      answer.pause();
    },
    resume: (answer) => queueMicrotask(() => resume(answer)),
    forget: (answer) => void paused.delete(answer),
  };
}

/** Its listeners precede those of undici. */
function watch(socket: Socket, ending: () => void): void {
  socket.on('end', ending);
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // After an error no answer can go on. Under this code undici would take a paused one for whole.
    if (error.code === 'ECONNRESET') error.code = 'UPSTREAM_RESET';
  });
}
