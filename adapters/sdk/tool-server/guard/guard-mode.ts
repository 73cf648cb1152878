/** What a mode of the guard does with a request of its port. The server, the reload and the stop are the same for both. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ToolServer } from '../core/tool-server.ts';
import type { GuardConfiguration } from './configuration.ts';

export interface GuardMode {
  /** From now on these rules hold. Requests under way end under the earlier ones. @throws TypeError, and changes nothing */
  use(toolServer: ToolServer, configuration: GuardConfiguration): void;
  /**
   * Answers the request, with one access event unless its route is open. Rejects for an unexpected fault. If a gateway could see
   * another end of the message, the connection ends with the answer: nothing behind it is a request.
   *
   * @param isMalformed whether another server could read the head differently
   */
  answer(request: IncomingMessage, response: ServerResponse, isMalformed: boolean): Promise<void>;
  /** The limit for a request's head and body together, in milliseconds; 0 for none. */
  readonly requestMs: number;
  /** Frees what the mode holds, such as connections to the upstream. No request follows. */
  close(): void;
}
