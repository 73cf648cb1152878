/** Lists the modules that an import loads. A child process imports, and module hooks print each module. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Module hooks that print the URL of each module that Node loads. */
const HOOKS = `
  import { writeSync } from 'node:fs';
  export async function load(url, context, next) {
    writeSync(2, url + '\\n');
    return next(url, context);
  }
`;

/**
 * @param specifier a package, resolved from `cwd`, or a URL
 * @returns the URLs of all modules that the import loads, in order
 * @throws if the import fails
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
