/** What a process loads when it imports something: seen from inside, by hooks of its own. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Module hooks that say what is loaded, one address a line; only from the time they are registered. */
const HOOKS = `
  import { writeSync } from 'node:fs';
  export async function load(url, context, next) {
    writeSync(2, url + '\\n');
    return next(url, context);
  }
`;

/**
 * The addresses of all modules that an import brings with it, in the order of loading; rejects when it fails.
 *
 * @param specifier a package, found from `cwd`, or an address
 */
export async function loadedModules(
  specifier: string,
  { cwd, options = [] }: { readonly cwd: string; readonly options?: readonly string[] },
): Promise<readonly string[]> {
  const program = `
    import { register } from 'node:module';
    register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(HOOKS)}));
    await import(${JSON.stringify(specifier)});
  `;
  const given = [...options, '--input-type=module', '--eval', program];
  const { stderr } = await run(process.execPath, given, { cwd });
  return stderr.split('\n').filter((line) => /^(file|node):/.test(line));
}
