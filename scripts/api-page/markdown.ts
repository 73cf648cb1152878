/** Writes Markdown in the style of the pages in docs/. */

const LINE_WIDTH = 120;

/** Wraps a paragraph into lines of at most 120 characters. Tables, headings and code stay as they are. */
export function wrapped(section: string): string {
  if (/^([#|`]{2,}|[#|])/.test(section)) return section;
  return section
    .split('\n\n')
    .map((paragraph) => {
      const lines = [''];
      for (const word of paragraph.split(/\s+/)) {
        const line = lines.at(-1) ?? '';
        if (line !== '' && line.length + 1 + word.length > LINE_WIDTH) lines.push(word);
        else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`;
      }
      return lines.join('\n');
    })
    .join('\n\n');
}

/** The anchor that GitHub gives to a heading. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

export function fenced(language: string, text: string): string {
  return `\`\`\`${language}\n${text}\n\`\`\``;
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** 120 characters, less the indentation of a page. */
const JSON_WIDTH = 100;

/** JSON in which an object or list that fits into a line takes one line. */
export function jsonText(value: unknown, indent = ''): string {
  const flat = JSON.stringify(value, null, 1).replace(/\n */g, ' ');
  if (typeof value !== 'object' || value === null || flat.length + indent.length <= JSON_WIDTH) return flat;
  const deeper = `${indent}  `;
  const items = Array.isArray(value)
    ? value.map((item) => jsonText(item, deeper))
    : Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${jsonText(member, deeper)}`);
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  return `${open}\n${items.map((item) => `${deeper}${item}`).join(',\n')}\n${indent}${close}`;
}
