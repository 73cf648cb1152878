/** Imported first by a file of test/long: the suites that it imports next run at full length. */

import { LENGTH } from './length.ts';

process.env[LENGTH] = 'full';
