/**
 * `npm run quickstart`: runs every step on this machine, then keeps serving until Ctrl-C. With `--once` it stops after
 * the last step. Exits with 0 only if every step succeeded. `--provider` runs the identity provider alone, and `--token`
 * prints the access token of a person there (people-desk.ts).
 *
 * run.ts prepares and ends the run. stage.ts starts an identity provider, Mandate and three tool servers. story.ts runs
 * the steps in order, one file each in `chapters`: each sends requests, shows them on terminal.ts, and checks the results.
 * invitation.ts then shows commands to try.
 */

import { parseArgs } from 'node:util';
import { untilInterrupted } from './interruption.ts';

const USAGE =
  'The quickstart has the options --once, or --provider, or --token NAME; the last two also take --port NUMBER.';

/** @returns the options; `undefined` if the line is wrong */
function readLine() {
  try {
    const { values } = parseArgs({
      options: {
        once: { type: 'boolean', default: false },
        provider: { type: 'boolean', default: false },
        token: { type: 'string' },
        port: { type: 'string' },
      },
    });
    const { once, provider, token, port } = values;
    const chosen = [once, provider, token !== undefined].filter((each) => each).length;
    const hasPort = port === undefined || ((provider || token !== undefined) && /^[1-9]\d{0,4}$/.test(port));
    return chosen <= 1 && hasPort ? { ...values, port: port === undefined ? undefined : Number(port) } : undefined;
  } catch {
    return undefined;
  }
}

async function main(): Promise<number> {
  const options = readLine();
  if (options === undefined) {
    console.error(USAGE);
    return 2;
  }
  const { once, provider, token, port } = options;
  if (!provider && token === undefined) return (await import('./run.ts')).runQuickstart(once);
  const { printToken, runProvider } = await import('./people-desk.ts');
  if (token !== undefined) return printToken(token, port);
  return runProvider(untilInterrupted(), port);
}

process.exitCode = await main();
