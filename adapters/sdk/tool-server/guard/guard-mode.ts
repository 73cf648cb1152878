/** What a mode of the guard does with a request of its port. The server, the reload and the stop are the same for both. */

import type { IncomingMessage, ServerResponse } from 'node:http';

export interface GuardMode {
  /** Answers the request, with one access event unless its route is open. Rejects for an unexpected fault. */
  answer(request: IncomingMessage, response: ServerResponse): Promise<void>;
  /** Frees what the mode holds, such as connections to the upstream. No request follows. */
  close(): Promise<void>;
}
