/**
 * For `node --import`, before the service: SIGUSR2 collects all garbage of the main thread. What is resident right after it
 * is what is alive, where otherwise it tells as much of when there was last time to collect.
 */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');
process.on('SIGUSR2', () => collect());
