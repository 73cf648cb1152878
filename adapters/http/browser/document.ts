/** The document of every page. */

import { type Html, html } from './html.ts';

export interface Head {
  readonly language: string;
  readonly title: string;
  /** The address of the icon. */
  readonly icon: string;
  /** The addresses of the style sheets. */
  readonly styles: readonly string[];
  /** The address that the browser opens next. */
  readonly opens?: string | undefined;
}

export function documentOf({ language, title, icon, styles, opens }: Head, body: Html): string {
  return `${html`<!doctype html>
<html lang="${language}" dir="ltr">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>${opens !== undefined && html`<meta http-equiv="refresh" content="${`0; url=${opens}`}">`}
<link rel="icon" href="${icon}">
${styles.map((style) => html`<link rel="stylesheet" href="${style}">\n`)}</head>
<body>
${body}
</body>
</html>
`}`;
}
