import { processProgram } from './one-piece.ts';

/** What Node is told before the name of a program that is translated as it runs, its threads included. */
export const fromSource: readonly string[] = ['--import', new URL('./typescript-loader.mjs', import.meta.url).href];

/** What Node is told to run a program of ours that tests start often: the same sources, put together once in a run. */
export const asProgram = (file: string | URL): readonly string[] => [processProgram(file)];
