/** Leaves the agent of the quickstart as a program that the user can start, with its key and Ada's access token. */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { fromSource } from '../from-source.ts';
import type { Stage } from './stage.ts';
import type { Cast } from './story.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXAMPLE = 'docs/examples/agent.ts';

/** Writes two files that only their owner may read: the key, and the commands that set the agent's variables and start it. */
export function leaveAgent(
  { issuer, jira, agentFile, agentKeyFile }: Stage,
  { identity, subjectToken }: Pick<Cast, 'identity' | 'subjectToken'>,
): void {
  writeFileSync(agentKeyFile, identity.pem, { mode: 0o600 });
  const variables = {
    MANDATE_ISSUER: issuer,
    AGENT_ID: identity.id,
    KEY_FILE: agentKeyFile,
    SUBJECT_TOKEN: subjectToken,
    RESOURCE: jira.audience,
  };
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`);
  const start = [process.execPath, ...fromSource, EXAMPLE].map(quoted).join(' ');
  // The loader finds our packages by the tsconfig.json of the current folder.
  writeFileSync(agentFile, `${lines.join('\n')}\ncd ${quoted(ROOT)} && exec ${start}\n`, { mode: 0o600 });
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}
