/**
 * Names the tools without a policy to the author of the server: every call of one is refused. The author gives the library the names.
 * The guard reads them on the way in the first list that a client gets. A list of several pages is read to its last page.
 */

import { isObject } from '../../../../domain/tokens/strict-json.ts';
import type { ListOfTools } from './allowed-list.ts';
import { readEvent } from './server-event.ts';
import type { Asked, ToolPolicies } from './tool-policies.ts';

/** Gets the body of one answer. */
export interface AnswerCopy {
  take(chunk: Buffer): void;
  end(): void;
}

/** @returns `undefined` for an answer that need not be read */
export type ReadList = (asked: Asked) => AnswerCopy | undefined;

/** Longer lists are not read. */
const MAX_BYTES = 4 * 1024 * 1024;

export interface ListedTools {
  readonly readList: ReadList;
  /** Reads a page that the caller has parsed. */
  readonly readPage: (page: ListOfTools) => void;
}

/** @param warn gets one sentence for each page that has such tools */
export function listedTools(policies: Pick<ToolPolicies, 'hasTool'>, warn: (sentence: string) => void): ListedTools {
  const named = new Set<string>();
  let isKnown = false;
  const readPage = ({ tools, nextCursor }: ListOfTools): void => {
    const names = tools.map((tool) => (isObject(tool) ? tool.name : undefined));
    const unnamed = names.filter((name) => typeof name === 'string').filter((name) => !named.has(name));
    for (const name of unnamed) named.add(name);
    isKnown ||= nextCursor === undefined;
    const warning = toolsWithoutPolicy(policies, unnamed);
    if (warning !== undefined) warn(warning);
  };
  const readList: ReadList = (asked) => {
    if (isKnown || asked.kind !== 'method' || asked.name !== 'tools/list') return undefined;
    const chunks: Buffer[] = [];
    let length = 0;
    return {
      take(chunk) {
        length += chunk.length;
        if (length <= MAX_BYTES) chunks.push(chunk);
      },
      end() {
        if (length > MAX_BYTES) return;
        for (const page of pagesIn(Buffer.concat(chunks).toString())) readPage(page);
      },
    };
  };
  return { readList, readPage };
}

/** A sentence that names the tools without a policy. @returns `undefined` if each tool has a policy */
export function toolsWithoutPolicy(
  { hasTool }: Pick<ToolPolicies, 'hasTool'>,
  names: readonly string[],
): string | undefined {
  const without = names.filter((name) => !hasTool(name));
  return without.length === 0 ? undefined : sentenceAbout(without);
}

/** @param text JSON, or server-sent events with JSON */
function pagesIn(text: string): readonly ListOfTools[] {
  const texts = text.trimStart().startsWith('{')
    ? [text]
    : text.split(/\r\n\r\n|\n\n|\r\r/).map((event) => readEvent(event).data ?? '');
  return texts.flatMap((each) => {
    const message = parsed(each);
    const result = isObject(message) ? message.result : undefined;
    return isObject(result) && Array.isArray(result.tools) ? [{ ...result, tools: result.tools }] : [];
  });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const MAX_NAMES = 20;
/** A name in the form of the protocol. Others could write what they like into a log. */
const NAME = /^[\w./-]{1,128}$/;

function sentenceAbout(names: readonly string[]): string {
  const shown = names.filter((name) => NAME.test(name)).slice(0, MAX_NAMES);
  const more = names.length - shown.length;
  const list = [...shown, ...(more > 0 ? [`${more} more`] : [])].join(', ');
  return `Tools without a policy: ${list}. Each call of them is refused as unknown_tool.`;
}
