/** Agent files of the tests: a valid one, changes of it, and what the reader says about them. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readAgentFiles } from '../../../../adapters/cli/agent-files/read-agent-files.ts';
import { describeFileProblem } from '../../../../adapters/cli/yaml/yaml-file.ts';
import { judgeDraft } from '../../../../application/admin/register-agent.ts';
import { CERTAIN_RULES, type Declaration, draftOf } from '../../../../domain/agents/declaration.ts';
import { P256_KEY } from '../../../support/registrations.ts';

export const SECRET = 'a-value-that-no-problem-repeats';

export const judge = (declaration: Declaration) =>
  judgeDraft({ agentKeys: { isUsable: async () => true }, rules: CERTAIN_RULES }, draftOf(declaration));

export const good = [
  'agent_id: jira-triage',
  'display_name: Jira triage',
  'sponsor_required: true',
  'allowed_scopes: [jira:read, jira:comment]',
  'allowed_audiences:',
  '  - https://jira.example',
  'max_task_ttl: PT20M',
  'max_token_ttl: PT4M',
  'max_delegation_depth: 2',
  'high_risk_audiences: []',
  `jwks: ${JSON.stringify({ keys: [P256_KEY] })}`,
  'enabled: false',
] as const;

/** A valid file, in which `line` replaces the line that begins with `start`. Without `line`, that line is removed. */
export function changed(start: string, line?: string): string {
  return good
    .filter((each) => line !== undefined || !each.startsWith(start))
    .map((each) => (each.startsWith(start) ? (line ?? '') : each))
    .join('\n');
}

export const withValue = (name: string, value: string) => changed(`${name}:`, `${name}: ${value}`);
export const withLine = (line: string) => [...good, line].join('\n');

/** Makes a folder for the files of a suite, and removes it afterwards. */
export function agentFolder() {
  let folder: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'mandate-agents-'));
  });
  after(() => rmSync(folder, { recursive: true }));

  const write = (name: string, text: string | Uint8Array): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  const problemsOf = async (...texts: readonly (string | Uint8Array)[]): Promise<readonly string[]> => {
    const files = texts.map((text, index) => write(`${index + 1}.yaml`, text));
    const read = await readAgentFiles(files, judge);
    const said = read.kind === 'sound' ? [] : read.problems.map(describeFileProblem);
    return said.map((each) => each.replaceAll(`${folder}/`, ''));
  };
  return { path: (name: string) => join(folder, name), write, problemsOf };
}
