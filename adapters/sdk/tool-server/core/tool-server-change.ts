/**
 * Changes a tool server that keeps its keys: the guard does it when its file is read again. No export of the package leads
 * here.
 */

import type { ToolServerOptions } from './options.ts';

/** Checked options. Without `statusList` no list is polled any more, without `approvalKey` no approval can be asked for. */
export type ChangedOptions = Pick<ToolServerOptions, 'statusList' | 'approvalKey'>;

type Change = (options: ChangedOptions) => void;

/** By the tool server. Only `createToolServer` adds entries. */
const changes = new WeakMap<object, Change>();

export function keepChange(toolServer: object, change: Change): void {
  changes.set(toolServer, change);
}

export function changeToolServer(toolServer: object, options: ChangedOptions): void {
  changes.get(toolServer)?.(options);
}
