/**
 * Changes the status lists of a tool server that keeps its keys: the guard does it when its file is read again. No export of
 * the package leads here.
 */

import type { StatusListOptions } from './options.ts';

type Change = (options: StatusListOptions | undefined) => void;

/** By the tool server. Only `createToolServer` adds entries. */
const changes = new WeakMap<object, Change>();

export function keepChange(toolServer: object, change: Change): void {
  changes.set(toolServer, change);
}

/** @param options checked ones; `undefined` polls no list any more */
export function changeStatusList(toolServer: object, options: StatusListOptions | undefined): void {
  changes.get(toolServer)?.(options);
}
