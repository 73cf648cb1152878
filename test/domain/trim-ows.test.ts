import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { trimOws } from '../../domain/trim-ows.ts';
import { sourceFiles } from '../support/source-files.ts';

/** What `trim()` and `\s` take for white space, and HTTP does not. */
const NOT_OWS = ['\u00a0', '\u000b', '\u000c', '\n', '\r', '\ufeff', '\u2028', '\u3000', '\0', '\u0085'];

describe('The optional white space of HTTP', () => {
  it('is space and tab, at both ends', () => {
    for (const [text, expected] of [
      ['', ''],
      [' \t \t', ''],
      ['a', 'a'],
      ['\t a \t b\t ', 'a \t b'],
    ] as const) {
      expect(trimOws(text), JSON.stringify(text)).to.equal(expected);
    }
  });

  it('is nothing else', () => {
    for (const character of NOT_OWS) {
      const text = `${character}a${character}`;
      expect(trimOws(` ${text}\t`), JSON.stringify(character)).to.equal(text);
    }
  });
});

/** Folders of files that read no request. */
const NO_HEADERS = /^(?:cli|storage)\//;
/** Lines about texts that are no header's value. */
const OTHER_TEXTS: Readonly<Record<string, string>> = {
  'http/admin/operators.ts': 'const reason = text.trim();',
  'http/observed-requests.ts': "name: [known ?? 'HTTP', pattern].join(' ').trim(),",
  'telemetry/error-report.ts': '.map((line) => line.trim());',
  'sdk/tool-server/guard/value-kinds.ts':
    "const LINE = '^(?=.*\\\\S)[^\\\\u0000-\\\\u001f\\\\u007f-\\\\u009f\\\\u2028\\\\u2029]+$';",
  'sdk/tool-server/core/options.ts': "typeof value === 'string' && value.trim() !== '' && HEADER_TEXT.test(value)",
};

describe('The files that read headers', () => {
  it('strip and match no white space but that of HTTP: they name neither trim() nor \\s', () => {
    const files = sourceFiles(['adapters'])
      .map((path) => path.slice('adapters/'.length))
      .filter((path) => !NO_HEADERS.test(path));
    const sources = files.map((path) => [path, readFileSync(`adapters/${path}`, 'utf8')] as const);
    const readers = sources.filter(([, source]) => /header|cookie/i.test(source));
    expect(readers.length).to.be.greaterThan(30);
    const faults = readers.flatMap(([path, source]) =>
      source
        .split('\n')
        .map((line) => line.trim())
        .filter((line) => /\.trim(?:Start|End)?\b|\\s/i.test(line) && line !== OTHER_TEXTS[path])
        .map((line) => `${path}: ${line}`),
    );
    expect(faults).to.deep.equal([]);
  });
});
