/** Client metadata documents (draft-ietf-oauth-client-id-metadata-document): a client describes itself at its `client_id`. */

import type { ClientDocument } from '../../domain/authorization/client-document.ts';
import type { Trace } from '../../domain/trace-context.ts';
import type { HeldPermit } from './keys.ts';

export type ReadClientDocument =
  /** The same object as long as the content is the same. */
  | { readonly kind: 'read'; readonly document: ClientDocument }
  /** It could not be fetched, and none that was kept is fresh. The same request may succeed later. */
  | { readonly kind: 'unavailable' }
  /** It was fetched, and describes no client that this service accepts. `problem` is a fixed sentence. */
  | { readonly kind: 'unusable'; readonly problem: string };

/** The documents that registrations name. Each is kept as long as its HTTP headers allow, for an hour at most. */
export interface ClientDocuments {
  /**
   * Reads a document. Concurrent callers share one request, and wait without their permits.
   *
   * @param uri the `client_id_document` of a registration, never an address from a request alone
   */
  read(uri: string, trace?: Trace, permit?: HeldPermit): Promise<ReadClientDocument>;
}
