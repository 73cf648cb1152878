/**
 * Changes the control planes of a tool server, which keeps its policies: the guard does it when its file is read again. No
 * export of the package leads here.
 */

import type { GivenIssuers } from './options.ts';

/**
 * Checked options: the control planes from now on. One that stays keeps its keys, and its `fetch`. Without `statusList` no list
 * is polled any more, without `approvalKey` no approval can be asked for.
 */
export type ChangedOptions = GivenIssuers;

type Change = (options: ChangedOptions) => void;

/** By the tool server. Only `createToolServer` adds entries. */
const changes = new WeakMap<object, Change>();

export function keepChange(toolServer: object, change: Change): void {
  changes.set(toolServer, change);
}

export function changeToolServer(toolServer: object, options: ChangedOptions): void {
  changes.get(toolServer)?.(options);
}
