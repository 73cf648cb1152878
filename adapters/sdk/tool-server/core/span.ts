/** The port for spans of requests to the control plane; `@mandate/tool-server/opentelemetry` implements it. */

import type { IncomingHttpHeaders } from 'node:http';

export interface ControlPlaneSpan {
  /** Sent with the request: `traceparent`, with this span as the parent. */
  readonly headers: Readonly<Record<string, string>>;
  /** @param status `undefined` if no complete answer came */
  end(status: number | undefined): void;
}

/**
 * Starts the span of a request to the control plane.
 *
 * @param cause the headers of the request that causes it, if they are known
 */
export type StartSpan = (
  request: { readonly method: 'GET' | 'POST'; readonly url: string },
  cause: IncomingHttpHeaders | undefined,
) => ControlPlaneSpan;

const NONE: ControlPlaneSpan = { headers: {}, end: () => undefined };

export const noSpan: StartSpan = () => NONE;

/** A span that throws is lost, and its error is reported. The request is sent anyway. */
export function harmless(startSpan: StartSpan, report: (error: unknown) => void): StartSpan {
  const safely = <Result>(work: () => Result): Result | undefined => {
    try {
      return work();
    } catch (error) {
      report(error);
      return undefined;
    }
  };
  return (request, cause) => {
    const span = safely(() => startSpan(request, cause)) ?? NONE;
    return { headers: span.headers, end: (status) => safely(() => span.end(status)) };
  };
}
