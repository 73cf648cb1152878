import { processProgram } from './bundled-programs.ts';

/** Node's arguments for a program whose sources the TypeScript loader translates at run time, also in its threads. */
export const fromSource: readonly string[] = ['--import', new URL('./typescript-loader.mjs', import.meta.url).href];

/** Node's arguments for a program that tests start often: its sources, bundled once per test run. */
export const asProgram = (file: string | URL): readonly string[] => [processProgram(file)];
