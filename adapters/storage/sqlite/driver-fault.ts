/**
 * Why better-sqlite3 could not be loaded. It is an optional dependency of the service, and machine code, built for one
 * version of Node. The main thread reads the fault, so this file does not import the driver.
 */

export type DriverFault = 'driver_not_installed' | 'driver_of_another_node' | 'driver_not_loaded';

/** @param error as opening a database threw it; its causes are looked at too */
export function driverFault(error: unknown): DriverFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? error.code : undefined;
  // The import in the database thread, before that thread runs any of our code.
  if (code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'better-sqlite3'")) return 'driver_not_installed';
  // Node's message for an addon (process.dlopen) of another version, which has no separate code.
  if (code === 'ERR_DLOPEN_FAILED') {
    return error.message.includes('NODE_MODULE_VERSION') ? 'driver_of_another_node' : 'driver_not_loaded';
  }
  // The message of the package `bindings` if the addon was not built.
  if (error.message.startsWith('Could not locate the bindings file')) return 'driver_not_loaded';
  return driverFault(error.cause);
}
