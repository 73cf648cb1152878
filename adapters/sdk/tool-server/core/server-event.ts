/** The lines of one server-sent event (HTML, "Server-sent events"). */

export interface ServerEvent {
  /** The lines of its data, joined; `undefined` without one. */
  readonly data: string | undefined;
  /** Empty for the usual one, `message`. */
  readonly name: string;
  /** All lines but those of the data, and the blank one. */
  readonly others: readonly string[];
}

/** @param text of a whole event, as `eventSplitter` returns it. Some clients ignore a byte order mark before any event */
export function readEvent(text: string): ServerEvent {
  const lines = text.replace(/^\ufeff/, '').split(/\r\n|\r|\n/);
  const isData = (line: string) => /^data(?::|$)/.test(line);
  const data = lines.filter(isData).map((line) => line.replace(/^data:? ?/, ''));
  const names = lines.filter((line) => /^event(?::|$)/.test(line)).map((line) => line.replace(/^event:? ?/, ''));
  const others = lines.filter((line) => line !== '' && !isData(line));
  return { data: data.length === 0 ? undefined : data.join('\n'), name: names.at(-1) ?? '', others };
}

export function writeEvent({ data, others }: Pick<ServerEvent, 'data' | 'others'>): Buffer {
  const lines = data === undefined ? [] : data.split('\n').map((line) => `data: ${line}`);
  return Buffer.from(`${[...others, ...lines].join('\n')}\n\n`);
}
