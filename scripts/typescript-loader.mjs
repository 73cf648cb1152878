/** For `node --import`: runs the sources as they are, also in worker threads, which tsx by itself leaves out on Node 20. */

import { register } from 'tsx/esm/api';

register();
