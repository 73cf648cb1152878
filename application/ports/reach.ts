/**
 * Connects to where an http or https URL leads, over TLS for the latter, and sends nothing. Resolves with `undefined`,
 * or with a sentence that says why not: fixed text, and at most the operating system's code.
 */
export type Reach = (url: string, limitMs: number) => Promise<string | undefined>;
