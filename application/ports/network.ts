import type { Instant } from '../../domain/instant.ts';

export interface NetworkRequest {
  readonly method: 'GET' | 'POST' | 'PATCH';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** For the whole exchange, from connecting to the last byte. */
  readonly timeoutMs: number;
  /** An answer whose body is longer is a failure, and is not read on. */
  readonly maxBytes: number;
  /**
   * Connects to no address that is loopback, private, link-local or otherwise not public, whether the URL holds it or
   * its host resolves to it: that is a failure. So is a host with both kinds of address.
   */
  readonly publicOnly?: boolean;
}

export interface NetworkAnswer {
  readonly status: number;
  readonly body: string;
  /** The other side's clock as it answered, in whole seconds (RFC 9110 §6.6.1); `undefined` where it does not tell. */
  readonly date?: Instant | undefined;
}

/**
 * Thrown when no whole answer came: no connection, a time-out, too long, not UTF-8. A redirect is an answer. The
 * message is fixed text, and at most the operating system's code for what happened.
 */
export class NetworkFailure extends Error {
  override readonly name = 'NetworkFailure';
  /** Whether the other side did answer, with something that can't be read: it is up, and this answer is useless. */
  readonly answered: boolean;
  /** The status that such an answer began with. */
  readonly status: number | undefined;

  constructor(message: string, options: ErrorOptions & { readonly answered?: boolean; readonly status?: number } = {}) {
    super(message, options);
    this.answered = options.answered ?? false;
    this.status = options.status;
  }
}

/** HTTP to others. Never follows a redirect, never sends cookies, and reads no more than it was told to. */
export interface Network {
  /** @throws NetworkFailure */
  send(request: NetworkRequest): Promise<NetworkAnswer>;
}
