/**
 * The environment of the quickstart, in a temporary folder: a real identity provider, Mandate on SQLite in a child
 * process, and three tool servers.
 */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../test/support/identity-provider/identity-provider.ts';
import {
  AUTHORIZE_CLIENT_ID,
  CONSOLE_CLIENT_ID,
  PAGE_CLIENT_ID,
} from '../../test/support/identity-provider/provider-configuration.ts';
import { freePort } from '../free-port.ts';
import { builtProgram, startMandate } from '../mandate-process.ts';
import { type AccessLog, accessLog } from './access-log.ts';
import { ada, edsger, grace, olga } from './authority.ts';
import type { GuardedServer } from './guarded-server.ts';
import { type JiraIdentity, makeJiraIdentity, startJiraApi } from './jira-api.ts';
import { startJiraMcp } from './jira-mcp.ts';
import { type Operator, operator } from './operator.ts';

/** `Service:StatusLists:Ttl`. */
export const LIST_TTL_SECONDS = 1;

export interface Stage {
  readonly provider: IdentityProvider;
  readonly issuer: string;
  /** Where operators sign in. */
  readonly consoleOrigin: string;
  readonly operator: Operator;
  readonly adminKey: string;
  /** The file with the admin key, which only its owner may read. */
  readonly adminKeyFile: string;
  /** The file with a task's token for the user's own requests, for its owner only. Created after the last step. */
  readonly taskTokenFile: string;
  /** A file with the commands that start the agent again, for its owner only. Created after the last step. */
  readonly agentFile: string;
  /** The private key of the agent, which only its owner may read. */
  readonly agentKeyFile: string;
  readonly logFile: string;
  readonly databaseFile: string;
  /** A changed copy of the database. The auditor's chapter creates it. */
  readonly tamperedFile: string;
  /** A tool server on Express. */
  readonly jira: GuardedServer;
  /** A replica of it that polls the status list. */
  readonly jiraPolling: GuardedServer;
  /** A tool server that speaks MCP. */
  readonly jiraMcp: GuardedServer;
  /** The access events of all servers. */
  readonly accessLog: AccessLog;
  /** Node's arguments that run `mandate`. */
  readonly program: readonly string[];
  /** Resolves when Mandate has stopped. */
  readonly ended: Promise<void>;
  /** Stops everything, and removes the folder. */
  clear(): Promise<void>;
}

/** @param program Node's arguments that run `mandate` */
export async function setStage(program: readonly string[] = builtProgram): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-quickstart-'));
  const steps = [async () => rmSync(folder, { recursive: true, force: true })];
  const clear = async () => {
    for (const step of steps.splice(0).reverse()) await step();
  };
  try {
    const port = await freePort();
    const consolePort = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const consoleOrigin = `http://127.0.0.1:${consolePort}`;
    const provider = await startIdentityProvider({
      people: [ada, grace, edsger, olga],
      page: { issuer: address },
      console: { issuer: address, origin: consoleOrigin },
    });
    steps.push(provider.stop);
    const adminKey = randomBytes(32).toString('base64url');
    const adminKeyFile = join(folder, 'admin-key');
    writeFileSync(adminKeyFile, adminKey, { mode: 0o600 });
    const databaseFile = join(folder, 'mandate.db');
    const scopeFile = join(folder, 'scopes.yaml');
    writeFileSync(scopeFile, SCOPE_WORDS);
    const identity = await makeJiraIdentity();
    const mandate = await startMandate(
      {
        ...settings(provider, port, databaseFile, adminKey, scopeFile),
        ...consoleSettings(consolePort),
        ...approvalSettings(identity),
        ...authorizeSettings(provider),
      },
      folder,
      program,
    );
    steps.push(mandate.stop);
    const { issuer, logFile, ended } = mandate;
    const log = accessLog();
    const jira = await startJiraApi(issuer, log, identity);
    steps.push(jira.stop);
    const jiraPolling = await startJiraApi(issuer, log, identity, jira);
    steps.push(jiraPolling.stop);
    const jiraMcp = await startJiraMcp(issuer, log);
    steps.push(jiraMcp.stop);
    return {
      provider,
      issuer,
      consoleOrigin,
      operator: operator(issuer, adminKey),
      adminKey,
      adminKeyFile,
      logFile,
      databaseFile,
      jira,
      jiraPolling,
      jiraMcp,
      accessLog: log,
      program,
      ended,
      clear,
      taskTokenFile: join(folder, 'task-token'),
      agentFile: join(folder, 'agent.sh'),
      agentKeyFile: join(folder, 'agent-key.pem'),
      tamperedFile: join(folder, 'tampered.db'),
    };
  } catch (error) {
    await clear();
    throw error;
  }
}

/** The names of the scopes on the page. */
const SCOPE_WORDS = `jira:read: { en: Read your issues, de: Ihre Vorgänge lesen }
jira:comment: { en: Comment in your name, de: In Ihrem Namen kommentieren }
`;

function settings(
  provider: IdentityProvider,
  port: number,
  databaseFile: string,
  adminKey: string,
  scopeFile: string,
): Readonly<Record<string, string>> {
  return {
    NODE_ENV: 'development',
    PORT: String(port),
    Service__UpstreamIdp__Issuer: provider.issuer,
    Service__UpstreamIdp__Audience: provider.audience,
    Service__UpstreamIdp__SponsorCheck__Mode: 'signals',
    Service__Database__Provider: 'sqlite',
    Service__Database__Path: databaseFile,
    // Below the default of 30 seconds, because the quickstart waits for a renewal and an expiry.
    Service__Agents__MinTokenTtl: 'PT1S',
    // The minimum, because the quickstart waits until the ledger is sealed.
    Service__Audit__Checkpoint__Interval: 'PT1S',
    Service__StatusLists__Enabled: 'true',
    // The minimum, because the quickstart waits until the list shows a kill.
    Service__StatusLists__Ttl: `PT${LIST_TTL_SECONDS}S`,
    Service__Admin__ApiKey: adminKey,
    Service__Me__ClientId: PAGE_CLIENT_ID,
    Service__Me__ScopeDescriptions: scopeFile,
  };
}

function consoleSettings(port: number): Readonly<Record<string, string>> {
  const roles = ['Viewer', 'Auditor', 'Registrar', 'Responder'];
  return {
    Service__Operators__ClientId: CONSOLE_CLIENT_ID,
    Service__Operators__RoleClaim: 'roles',
    ...Object.fromEntries(roles.map((role) => [`Service__Operators__Roles__${role}`, `mandate-${role.toLowerCase()}`])),
    Service__Console__Port: String(port),
    Service__Console__Origin: `http://127.0.0.1:${port}`,
  };
}

/** Programs without a key may walk in, and register themselves as the one that the operator registered. */
function authorizeSettings({ audience }: IdentityProvider): Readonly<Record<string, string>> {
  return {
    Service__Authorize__ClientId: AUTHORIZE_CLIENT_ID,
    Service__Authorize__ProviderParameters__resource: audience,
    Service__Authorize__PublicClients: 'true',
    Service__Authorize__Registration: 'known',
  };
}

function approvalSettings({ audience, jwks }: JiraIdentity): Readonly<Record<string, string>> {
  return {
    Service__Approvals__Enabled: 'true',
    Service__Approvals__Resources__0__Audience: audience,
    Service__Approvals__Resources__0__Jwks: jwks,
  };
}
