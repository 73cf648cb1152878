/** Whether SQLite itself could not be loaded: better-sqlite3 is machine code, built for one version of Node. */

export type AddonFault = 'addon_of_another_node' | 'addon_not_loaded';

/** @param error as opening a database threw it; its causes are looked at too */
export function addonFault(error: unknown): AddonFault | undefined {
  if (!(error instanceof Error)) return undefined;
  // Node says so of an addon (process.dlopen); there is no code for the version alone.
  if ('code' in error && error.code === 'ERR_DLOPEN_FAILED') {
    return error.message.includes('NODE_MODULE_VERSION') ? 'addon_of_another_node' : 'addon_not_loaded';
  }
  // The package `bindings`, when nothing was built.
  if (error.message.startsWith('Could not locate the bindings file')) return 'addon_not_loaded';
  return addonFault(error.cause);
}
