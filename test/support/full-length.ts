/** Files of test/long import this file first, so that the suites that they import next run at full length. */

import { LENGTH } from './length.ts';

process.env[LENGTH] = 'full';
