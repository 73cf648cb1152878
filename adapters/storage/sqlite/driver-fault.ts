/**
 * Why better-sqlite3 could not be loaded. The driver is an optional dependency with a native addon, which is built for one
 * version of Node. The main thread reads the fault, so this file must not import the driver.
 */

export type DriverFault = 'driver_not_installed' | 'driver_of_another_node' | 'driver_not_loaded';

/** @param error the error of opening a database. Its causes are searched too */
export function driverFault(error: unknown): DriverFault | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error ? error.code : undefined;
  // The database thread failed to import the driver.
  if (code === 'ERR_MODULE_NOT_FOUND' && error.message.includes("'better-sqlite3'")) return 'driver_not_installed';
  // Node has no separate code for an addon of another version, so its message is read (process.dlopen).
  if (code === 'ERR_DLOPEN_FAILED') {
    return error.message.includes('NODE_MODULE_VERSION') ? 'driver_of_another_node' : 'driver_not_loaded';
  }
  // The package `bindings` throws this message if the addon was not built.
  if (error.message.startsWith('Could not locate the bindings file')) return 'driver_not_loaded';
  return driverFault(error.cause);
}
