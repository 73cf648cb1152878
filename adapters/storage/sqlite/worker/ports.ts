/** Ports across threads: the thread serves each method as `port.method`, and the main thread gets the same ports. */

import type { Call, Methods } from './rpc.ts';

type Ports = Readonly<Record<string, object>>;

export function methodsOf(ports: Ports): Methods {
  return Object.fromEntries(
    Object.entries(ports).flatMap(([port, methods]) =>
      Object.entries(methods).map(([method, run]) => [`${port}.${method}`, run]),
    ),
  );
}

/**
 * @param methods the names that the thread serves
 * @param limitMs after this time a call is refused
 */
export function portsOver<Served extends Ports>(methods: readonly string[], call: Call, limitMs: number): Served {
  const ports: Record<string, Record<string, unknown>> = {};
  for (const name of methods) {
    const [port = '', method = ''] = name.split('.');
    ports[port] ??= {};
    ports[port][method] = (...args: readonly unknown[]) => call(name, args, limitMs);
  }
  return ports as unknown as Served;
}
