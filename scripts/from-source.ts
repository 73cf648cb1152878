import { processProgram } from './bundled-programs.ts';

/** Node's arguments for a program that the loader translates at run time, including its threads. */
export const fromSource: readonly string[] = ['--import', new URL('./typescript-loader.mjs', import.meta.url).href];

/** Node's arguments for a program that tests start often: the same sources, bundled once per run. */
export const asProgram = (file: string | URL): readonly string[] => [processProgram(file)];
