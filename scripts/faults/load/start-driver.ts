/** The load's process, as a run sees it. */

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../../from-source.ts';
import type { Kept } from './kept.ts';
import { countOrder, type DriverMessage, type LoadOrders, type Pace, stopOrder } from './orders.ts';

export interface Driver {
  readonly settings: Readonly<Record<string, string>>;
  readonly agents: readonly string[];
  /** Resolves once the agents are registered and the load is on. */
  load(orders: LoadOrders): Promise<void>;
  /** From now on as many a second. */
  pace(pace: Pace): void;
  /** Answers so far. */
  count(): Promise<number>;
  /** Lets what is under way be answered; every answer, in the order in which they came. */
  finish(): Promise<readonly Kept[]>;
  /** The provider that people come from is gone with it. */
  end(): Promise<void>;
}

const DRIVER = fileURLToPath(new URL('./driver.ts', import.meta.url));

export async function startDriver(): Promise<Driver> {
  const child = fork(DRIVER, { execArgv: [...fromSource] });
  const heard = <Kind extends DriverMessage['kind']>(kind: Kind): Promise<Extract<DriverMessage, { kind: Kind }>> =>
    new Promise((resolve, reject) => {
      const gone = () => reject(new Error(`the load's process ended before it said "${kind}"`));
      const listen = (message: DriverMessage) => {
        if (message.kind !== kind) return;
        child.off('exit', gone).off('message', listen);
        resolve(message as Extract<DriverMessage, { kind: Kind }>);
      };
      child.once('exit', gone).on('message', listen);
    });
  const cast = await heard('cast');
  let file = '';
  return {
    ...cast,
    async load(orders) {
      file = orders.file;
      const isOn = heard('loading');
      child.send(orders);
      await isOn;
    },
    pace: (pace) => void child.send(pace),
    async count() {
      const counted = heard('count');
      child.send(countOrder);
      return (await counted).answered;
    },
    async finish() {
      const over = heard('over');
      child.send(stopOrder);
      await over;
      return readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line) => (line === '' ? [] : [JSON.parse(line)]));
    },
    async end() {
      if (child.exitCode !== null) return;
      const gone = new Promise((done) => child.once('exit', done));
      child.kill('SIGKILL');
      await gone;
    },
  };
}
