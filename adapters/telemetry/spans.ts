/** Spans of outgoing requests, calls to the database, and jobs. Attributes follow OpenTelemetry's semantic conventions. */

import type { Decisions } from '../../application/ports/decisions.ts';
import { type Network, NetworkFailure } from '../../application/ports/network.ts';
import type { SpanStart, Tracing } from '../../application/ports/telemetry.ts';

/** The URL is no attribute: it may name a person. The receiver gets the span as the parent. */
export function tracedNetwork(network: Network, tracing: Tracing): Network {
  return {
    async send(request) {
      const { method, purpose, trace: parent } = request;
      const { protocol, hostname, port } = new URL(request.url);
      const span = tracing.start({
        name: [method, purpose].join(' ').trim(),
        kind: 'client',
        parent,
        attributes: {
          'http.request.method': method,
          'url.scheme': protocol.slice(0, -1),
          'server.address': hostname,
          'server.port': Number(port || (protocol === 'https:' ? 443 : 80)),
          'mandate.purpose': purpose,
        },
      });
      const end = (status: number | undefined, fault?: string) => {
        const failed = fault !== undefined || (status ?? 0) >= 500;
        const type = fault ?? (failed ? String(status) : undefined);
        span.end({ attributes: { 'http.response.status_code': status, 'error.type': type }, failed });
      };
      try {
        const answer = await network.send({ ...request, trace: span.trace });
        end(answer.status);
        return answer;
      } catch (cause) {
        end(cause instanceof NetworkFailure ? cause.status : undefined, classOf(cause));
        throw cause;
      }
    },
  };
}

/** Runs the work in a span, and within it. */
export async function inSpan<Result>(tracing: Tracing, start: SpanStart, work: () => Promise<Result>): Promise<Result> {
  const span = tracing.start(start);
  try {
    const result = await tracing.within(span.trace, work);
    span.end();
    return result;
  } catch (cause) {
    span.end({ attributes: { 'error.type': classOf(cause) }, failed: true });
    throw cause;
  }
}

/**
 * The storage whose decisions and calls of ports are spans of the request or job that they belong to. Every member that is an
 * object is a port, except `readiness` (`../storage/storage.ts`). Decisions that share a transaction have a span each, so that
 * every trace is complete. It includes the wait for the batch, and ends when the transaction is durable.
 */
export function tracedStorage<Storage extends Decisions & { readonly readiness: object }>(
  storage: Storage,
  tracing: Tracing,
  system: string,
): Storage {
  const call = <Result>(operation: string, work: () => Promise<Result>): Promise<Result> => {
    const parent = tracing.current();
    if (parent === undefined) return work();
    const attributes = { 'db.system.name': system, 'db.operation.name': operation };
    return inSpan(tracing, { name: operation, kind: 'client', parent, attributes }, work);
  };
  const traced = (name: string, port: object) =>
    Object.fromEntries(
      Object.entries(port).map(([method, run]) => [
        method,
        (...given: readonly unknown[]) => call(`${name}.${method}`, () => run(...given)),
      ]),
    );
  const { readiness: _, ...others } = storage;
  const ports = Object.entries(others).filter(([, member]) => typeof member === 'object');
  return {
    ...storage,
    ...Object.fromEntries(ports.map(([name, port]) => [name, traced(name, port)])),
    decide: (decision, input) => call(decision.name, () => storage.decide(decision, input)),
  };
}

function classOf(cause: unknown): string {
  return cause instanceof Error ? cause.constructor.name : 'unknown';
}
