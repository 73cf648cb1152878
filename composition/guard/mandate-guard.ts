#!/usr/bin/env node
/** `mandate-guard` of @mandate/tool-server. As ../main.ts, it checks the version of Node before it loads the command line. */

import { onSupportedNode } from '../on-supported-node.ts';

onSupportedNode('mandate-guard', 'The guard', () => {
  import('./guard-line.ts');
});
