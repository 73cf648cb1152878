#!/usr/bin/env node
/**
 * `mandate`. Static imports are parsed before the first line runs, and an old Node cannot parse the command line: this file
 * only imports the check of the version, which then loads it. It uses only syntax that Node 12 reads.
 */

import { onSupportedNode } from './on-supported-node.ts';

onSupportedNode('mandate', 'Mandate', () => {
  import('./commands/command-line.ts');
});
