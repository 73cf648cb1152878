/** The subpaths that the libraries export, with code that uses each, and the compiler that checks the code. */

import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';
import { libraries, root } from './packed-packages.ts';

const run = promisify(execFile);

interface Subpath {
  readonly use: string;
  readonly peers?: readonly string[];
  /** The subpath loads its peers, not only their types. */
  readonly loadsPeers?: true;
  /** Skips checking the types of other packages: those of the MCP SDK alone take ten seconds. */
  readonly skipLibCheck?: true;
}

/** For each subpath: code that compiles only with the types of the subpath, and the packages that it needs. */
export const SUBPATHS: Readonly<Record<string, Subpath>> = {
  '@mandate/tool-server': {
    use: `import { createToolServer, type ToolServer } from '@mandate/tool-server';
      export const server: ToolServer = createToolServer({ issuer: 'https://m.example', audience: 'https://j.example' });`,
  },
  '@mandate/tool-server/express': {
    use: `import { type ApprovalKey, createToolServer } from '@mandate/tool-server';
      import { claimsOf, type ExpressMiddleware, expressProtection } from '@mandate/tool-server/express';
      export const person = (request: object): string => claimsOf(request).sub;
      const at = { issuer: 'https://m.example', audience: 'https://j.example' };
      export const asking = (approvalKey: ApprovalKey): ExpressMiddleware =>
        expressProtection(createToolServer({ ...at, approvalKey }))({
          scope: ['a'],
          approval: ({ method, target, body, claims: { sub } }) => ({
            title: method + target + sub,
            // @ts-expect-error: the value has no type until it is checked.
            lines: [{ label: 'To', value: body.to }],
          }),
        });`,
  },
  '@mandate/tool-server/fastify': {
    use: `import fastify from 'fastify';
      import { mandateProtection } from '@mandate/tool-server/fastify';
      export const app = fastify();
      app.get('/', { config: { mandate: { scope: ['a'] } } }, async (request) => request.mandate?.sub);
      app.post<{ Body: { to: string } }>(
        '/',
        { config: { mandate: { scope: ['a'], approval: async ({ target, claims }) => ({ title: target + claims.sub }) } } },
        async ({ body }) => body.to,
      );
      export const protection = mandateProtection;`,
    peers: ['fastify'],
  },
  '@mandate/tool-server/mcp': {
    use: `import { McpServer } from '@modelcontextprotocol/server';
      import { claimsOf, type McpToolPolicy } from '@mandate/tool-server/mcp';
      export const policy: McpToolPolicy = {
        scope: ['a'],
        approval: ({ tool, arguments: { to }, claims: { sub } }) => ({ title: tool + sub + String(to) }),
      };
      new McpServer({ name: 'a', version: '1' }).registerTool('b', {}, (context) => {
        const text: string = claimsOf(context).sub;
        return { content: [{ type: 'text', text }] };
      });
      // @ts-expect-error: the compiler finds this error only if it finds the SDK's types.
      claimsOf(1);`,
    peers: ['@modelcontextprotocol/server'],
    skipLibCheck: true,
  },
  '@mandate/tool-server/opentelemetry': {
    use: `import { createToolServer } from '@mandate/tool-server';
      import { openTelemetrySpans } from '@mandate/tool-server/opentelemetry';
      const at = { issuer: 'https://m.example', audience: 'https://j.example' };
      export const server = createToolServer({ ...at, startSpan: openTelemetrySpans() });`,
    peers: ['@opentelemetry/api'],
    loadsPeers: true,
  },
  '@mandate/agent': {
    use: `import { type Agent, ApprovalRequired, type Task, TaskOver } from '@mandate/agent';
      const asked = { subjectToken: 'a', resource: 'https://j.example', scope: ['a'] };
      export const waiting = (agent: Agent): Promise<Task> =>
        agent.startTask({ ...asked, onApproval: async (uri) => console.log(uri.length), approvalTimeoutMs: 1000 });
      export const pageOf = (error: unknown): string | undefined =>
        error instanceof ApprovalRequired ? error.approvalUri : undefined;
      export const token = (task: Task): Promise<string> => task.token();
      export const isOver = (error: unknown): boolean => error instanceof TaskOver && error.reason === 'ended';`,
  },
  '@mandate/agent/mcp': {
    use: `import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
      import type { Agent } from '@mandate/agent';
      import { mcpAuthorization } from '@mandate/agent/mcp';
      export const transport = (agent: Agent) =>
        new StreamableHTTPClientTransport(new URL('https://j.example'), {
          authProvider: mcpAuthorization({ agent, subjectToken: '' }),
        });
      // @ts-expect-error: the compiler finds this error only if it finds the SDK's types.
      export const wrong: string = mcpAuthorization({ agent: {} as Agent, subjectToken: '' }).tokens();`,
    peers: ['@modelcontextprotocol/client'],
    skipLibCheck: true,
  },
  '@mandate/audit': {
    use: `import { createAuditor } from '@mandate/audit';
      export const auditor = createAuditor({ keys: { keys: [] } });`,
  },
};

/** The library to which a subpath belongs. */
export function libraryOf(subpath: string) {
  const found = libraries.find(({ manifest }) => subpath === manifest.name || subpath.startsWith(`${manifest.name}/`));
  if (found === undefined) throw new Error(`${subpath} is of no library`);
  return found;
}

export async function compiles(project: string, sources: readonly string[], skipLibCheck = false): Promise<void> {
  const files = sources.map((_, at) => `use-${at}.ts`);
  await Promise.all(files.map((file, at) => writeFile(join(project, file), sources[at] ?? '')));
  const compilerOptions = {
    target: 'es2023',
    module: 'nodenext',
    strict: true,
    noEmit: true,
    skipLibCheck,
    types: ['node'],
    exactOptionalPropertyTypes: true,
  };
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const { stdout } = await run(compiler, ['-p', project]).catch((error: { readonly stdout: string }) => error);
  expect(stdout).to.equal('');
}
