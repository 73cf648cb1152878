/** Cuts the lists in the answers of the MCP server, with `mcp.list: allowed`. */

import { isCoded } from '../../../../domain/content-coding.ts';
import { inTurn } from '../core/answer-reader.ts';
import { type ListsOfToken, listReader } from '../core/list-reader.ts';
import { headerValues } from '../core/raw-headers.ts';
import type { Forwarded } from './upstream.ts';

type ReaderOf = NonNullable<Forwarded['reader']>;

/**
 * @param session reads the answer first, while an approved call runs
 * @returns `undefined` for an answer in a coding that the guard cannot read
 */
export function cutLists(session: ReaderOf | undefined, lists: ListsOfToken): ReaderOf {
  return (received) => {
    const { rawHeaders, statusCode: status = 0 } = received;
    if (headerValues(rawHeaders, 'content-encoding').some(isCoded)) return undefined;
    const cutting = listReader(lists, status, headerValues(rawHeaders, 'content-type'));
    if (session === undefined) return cutting;
    const first = session(received);
    return first && inTurn(first, cutting);
  };
}
