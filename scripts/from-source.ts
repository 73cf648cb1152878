/** What Node is told before the name of a program that runs from its sources, threads included. */
export const fromSource: readonly string[] = ['--import', new URL('./typescript-loader.mjs', import.meta.url).href];
