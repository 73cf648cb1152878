/**
 * Opens a connection to an http or https URL, with TLS for https, and sends nothing. Resolves with `undefined` on
 * success, otherwise with a sentence: fixed text with at most the operating system's error code.
 */
export type Reach = (url: string, limitMs: number) => Promise<string | undefined>;
