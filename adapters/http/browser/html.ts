/** HTML that is escaped by construction: whatever a template inserts is text, unless a template made it. */

/** A piece of a page. Only the function `html` makes one. */
export class Html {
  readonly #markup: string;

  private constructor(markup: string) {
    this.#markup = markup;
  }

  static fromTemplate(parts: readonly string[], values: readonly Insert[]): Html {
    const markup = parts.map((part, at) => {
      const value = values[at];
      // An attribute without quotes could be left by a space.
      if (UNQUOTED.test(part) && at < values.length) throw new Error('An inserted attribute value needs quotes.');
      return part + markupOf(value);
    });
    return new Html(markup.join(''));
  }

  toString(): string {
    return this.#markup;
  }
}

/** `undefined` and `false` insert nothing. */
export type Insert = string | number | Html | undefined | false | readonly Insert[];

export function html(parts: TemplateStringsArray, ...values: readonly Insert[]): Html {
  return Html.fromTemplate(parts, values);
}

function markupOf(value: Insert): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.toString();
  if (typeof value === 'object') return value.map(markupOf).join('');
  return String(value).replace(/[&<>"']/g, (character) => ESCAPED[character] ?? '');
}

const UNQUOTED = /\s[\w-]+=$/;

const ESCAPED: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
