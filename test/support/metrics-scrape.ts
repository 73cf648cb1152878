/** Parses a scrape by the rules of Prometheus's text format, without the library that writes the format. */

export interface Scrape {
  readonly text: string;
  /** Each value by its name and sorted labels, such as `mandate_x{a="1",b="2"}`. */
  readonly values: ReadonlyMap<string, number>;
  value(name: string, labels?: Readonly<Record<string, string>>): number | undefined;
  /** HELP and TYPE of each metric. */
  readonly families: ReadonlyMap<string, { readonly help: string; readonly type: string }>;
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)/g;

function readScrape(text: string): Scrape {
  const values = new Map<string, number>();
  const families = new Map<string, { help: string; type: string }>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const [, word, name = '', rest = ''] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (word !== undefined) {
      const family = families.get(name) ?? { help: '', type: '' };
      families.set(name, word === 'HELP' ? { ...family, help: rest } : { ...family, type: rest });
      continue;
    }
    const [, sample, labels = '', value = ''] = SAMPLE.exec(line) ?? [];
    if (sample === undefined) throw new Error(`no sample: ${line}`);
    const pairs = [...labels.matchAll(LABEL)].map(([, label = '', text = '']) => [label, text] as const);
    const key = keyOf(sample, Object.fromEntries(pairs));
    if (values.has(key)) throw new Error(`twice: ${line}`);
    values.set(key, value === '+Inf' ? Number.POSITIVE_INFINITY : Number(value));
  }
  return { text, values, families, value: (name, labels = {}) => values.get(keyOf(name, labels)) };
}

function keyOf(name: string, labels: Readonly<Record<string, string>>): string {
  const pairs = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
  return pairs.length === 0 ? name : `${name}{${pairs.map(([label, value]) => `${label}="${value}"`).join(',')}}`;
}

export async function scrape(port: number): Promise<Scrape> {
  const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
  if (answer.status !== 200) throw new Error(`the scrape was answered ${answer.status}`);
  return readScrape(await answer.text());
}
