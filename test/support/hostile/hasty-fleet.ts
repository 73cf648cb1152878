/**
 * A primary and its worker, as `mandate serve --workers` runs them, but for limits on how long clients may take that a
 * test can wait for, where it is in a hurry (HASTY). Configured by its environment; says `serving` once it does.
 */

import { startService } from '../../../composition/service.ts';
import { readSettings } from '../../../composition/settings/read-settings.ts';
import { untilToldToStop } from '../../../composition/until-told-to-stop.ts';
import {
  acceptFromPrimary,
  isWorker,
  leavePrimary,
  leaveSignalsToPrimary,
  superviseWorkers,
  untilPrimarySaysStop,
} from '../../../composition/workers.ts';
import { capturedLog } from '../captured-log.ts';

const timeLimits = { headMs: 250, requestMs: 500, takingMs: 500, calmMs: 10_000, lookingMs: 50 };

const read = readSettings({ environment: process.env, overrides: [] });
if (read.kind === 'invalid') throw new Error(read.errors.map(({ key, problem }) => `${key} ${problem}`).join(', '));
const log = capturedLog();
if (isWorker()) {
  leaveSignalsToPrimary();
  const surroundings = { log, accept: acceptFromPrimary };
  const service = await startService(
    read.settings,
    process.env.HASTY === undefined ? surroundings : { ...surroundings, timeLimits },
  );
  await untilPrimarySaysStop();
  await service.stop();
  leavePrimary();
} else {
  const saysSo = { ...log, info: (message: string) => message === 'every worker serves' && console.log('serving') };
  const { settings } = read;
  await untilToldToStop((told) => superviseWorkers(1, settings, { log: saysSo, told }));
}
