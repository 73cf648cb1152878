/** Uses the libraries with a running service, in the projects that have them installed. */

import { generateKeyPairSync } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sqliteFile } from './databases.ts';
import { projectPlace, runExample, startExample } from './example-process.ts';
import { ADMIN_KEY, JIRA, startMandate } from './mandate.ts';

interface Projects {
  /** The folder of a project with `@mandate/agent`. */
  readonly agent: string;
  /** The folder of a project with `@mandate/tool-server` and Express. */
  readonly toolServer: string;
  /** The folder of a project with `@mandate/audit`. */
  readonly auditor: string;
}

type Ended = Awaited<ReturnType<typeof runExample>>;

/**
 * Runs the examples of the documentation: an agent exchanges a token and calls a tool server, the tool server checks
 * the token, and an auditor verifies the record of the exchange.
 * @returns the output of the agent and the auditor, and the agent's id
 */
export async function useLibraries(
  projects: Projects,
): Promise<{ readonly agentId: string; readonly agent: Ended; readonly auditor: Ended }> {
  const mandate = await startMandate({ database: sqliteFile, issuer: 'own-address' });
  try {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const keyFile = join(projects.agent, 'agent.pem');
    await writeFile(keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
    const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'ES256' };
    const { id } = await mandate.agent({ jwks: { keys: [jwk] } });

    const issuer = { MANDATE_ISSUER: mandate.issuer };
    const place = projectPlace(projects.toolServer);
    const server = await startExample('express-tool-server.ts', { ...issuer, AUDIENCE: JIRA }, place);
    const agentSettings = {
      ...issuer,
      AGENT_ID: id,
      KEY_FILE: keyFile,
      RESOURCE: JIRA,
      TOOL_SERVER: server.url,
      SUBJECT_TOKEN: mandate.provider.mintAccessToken({ scope: 'jira:read jira:comment' }),
    };
    const agent = await runExample('agent.ts', agentSettings, projectPlace(projects.agent)).finally(server.stop);

    await mandate.jobs.seal();
    const issued = (await mandate.ledger()).find(({ event }) => event === 'token.issued');
    const keysFile = join(projects.auditor, 'keys.json');
    await writeFile(keysFile, (await mandate.get('/.well-known/jwks.json')).text);
    const auditSettings = {
      MANDATE: mandate.url,
      ADMIN_API_KEY: ADMIN_KEY,
      KEYS_FILE: keysFile,
      RECORD: String(issued?.seq),
    };
    const auditor = await runExample('audit-script.ts', auditSettings, projectPlace(projects.auditor));
    return { agentId: id, agent, auditor };
  } finally {
    await mandate.stop();
  }
}
