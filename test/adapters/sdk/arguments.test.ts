/**
 * Wrong arguments of every public function of the libraries. The functions are those that the packages export, and the
 * methods of the objects that these functions make. A function without a row fails the first test.
 */

import { join } from 'node:path';
import { trace } from '@opentelemetry/api';
import { expect } from 'chai';
import { type Agent, createAgent, type Task } from '../../../adapters/sdk/agent/agent.ts';
import { mcpAuthorization } from '../../../adapters/sdk/agent/mcp/mcp.ts';
import { createAuditor } from '../../../adapters/sdk/audit/audit.ts';
import { createToolServer } from '../../../adapters/sdk/tool-server/core/tool-server.ts';
import { expressProtection, refuseUnknownRoutes } from '../../../adapters/sdk/tool-server/express/express.ts';
import { mcpProtection } from '../../../adapters/sdk/tool-server/mcp/mcp.ts';
import { openTelemetrySpans } from '../../../adapters/sdk/tool-server/opentelemetry/opentelemetry.ts';
import { libraries } from '../../support/packed-packages.ts';
import { makeSigningKey } from '../../support/signing-key.ts';
import { thrownBy } from '../../support/thrown-by.ts';

type Callable = (...args: readonly unknown[]) => unknown;
/** Arguments, and the whole message of the TypeError. */
type Case = readonly [args: readonly unknown[], message: string];

/** No message may repeat it. */
const SECRET = 'secret-that-no-message-may-repeat';
const ISSUER = 'https://mandate.example';
const JIRA = 'https://jira.example';

const ABSOLUTE = 'must be an absolute http or https URL of at most 2048 characters, without userinfo or fragment';
const MILLISECONDS = 'must be a number of milliseconds, above 0 and at most 2147483647';
const PURPOSE = 'must be 1 to 300 characters without control characters';
const SCOPES = 'must be a list of at least one scope';
const NO_SPACES = 'must hold only scopes: printable ASCII without spaces, quotes and backslashes';
const TOKEN = 'must be an access token: a text without spaces';
const TEXT = 'must be a text that is not empty';
const NOT_OBJECT = 'the argument must be an object';
const MADE = 'toolServer must be made by createToolServer';
const MIDDLEWARE =
  'The middleware: request must be an object; request.rawHeaders must be a list; request.headers must be an object; response must be an object; response.setHeader must be a function; response.end must be a function; next must be a function.';
const POLICY = `scope ${SCOPES}; highRisk must be true or false; requireActor must be true or false; maxDelegationDepth must be a whole number of 1 or more; highrisk is not an option`;
const POLICY_MEMBERS = 'scope, highRisk, requireActor, maxDelegationDepth';
const WRONG_POLICY = { scope: [], highRisk: SECRET, requireActor: 1, maxDelegationDepth: 0, highrisk: true };

/** They take no argument, or only one that they ignore. */
const WITHOUT_ARGUMENTS = [
  '@mandate/tool-server/opentelemetry openTelemetrySpans',
  ...['token', 'end'].map((name) => `Task ${name}`),
  ...['clientInformation', 'discoveryState', 'tokens', 'end'].map((name) => `McpAuthorization ${name}`),
  // They always throw a TypeError: an agent has no redirect.
  ...['redirectToAuthorization', 'saveCodeVerifier', 'codeVerifier'].map((name) => `McpAuthorization ${name}`),
];

describe('A public function of the libraries', () => {
  const key = { alg: 'ES256', sign: () => new Uint8Array(64) } as const;
  /** The requests of agents and tool servers, and the errors that `onError` got. */
  const sent: unknown[] = [];
  const reported: unknown[] = [];
  const functions = new Map<string, Callable>();

  function addMembers(of: string, made: object): void {
    for (const [name, member] of Object.entries(made)) {
      if (typeof member === 'function') functions.set(`${of} ${name}`, (...args) => member.apply(made, args));
    }
  }

  const fetchOnce: typeof globalThis.fetch = async (_url, init) => {
    sent.push(init?.body);
    return Response.json({
      access_token: 'opaque.token',
      refresh_token: 'task_grant_a',
      token_type: 'Bearer',
      expires_in: 60,
      scope: 'jira:read',
      task_id: 'task_a',
      task_expires_at: new Date(Date.now() + 600_000).toISOString(),
    });
  };

  before(async () => {
    for (const { manifest, source } of libraries) {
      for (const [subpath, paths] of Object.entries(manifest.exports)) {
        if (typeof paths === 'string') continue;
        const path = join('../../..', paths.default.replace('./dist/', '').replace(/\.js$/, '.ts'));
        const exported: Readonly<Record<string, unknown>> = await import(path);
        expect(path).to.include(source);
        for (const [name, value] of Object.entries(exported)) {
          if (typeof value !== 'function') continue;
          // A class is called with `new`.
          const isClass = /^class\b/.test(String(value));
          const call: Callable = isClass ? (...args) => Reflect.construct(value, args) : (value as Callable);
          functions.set(`${join(manifest.name, subpath)} ${name}`, call);
        }
      }
    }
    const agent: Agent = createAgent({ issuer: ISSUER, agentId: 'triage', key, fetch: fetchOnce });
    const task: Task = await agent.startTask({ subjectToken: 'a.b.c', resource: JIRA, scope: ['jira:read'] });
    const toolServer = createToolServer({
      issuer: ISSUER,
      audience: JIRA,
      fetch: fetchOnce,
      onAccess: () => undefined,
      onError: (error) => void reported.push(error),
    });
    const { publicJwk } = await makeSigningKey('ES256');
    const made = { Agent: agent, Task: task, ToolServer: toolServer };
    for (const [of, each] of Object.entries(made)) addMembers(of, each);
    addMembers('McpAuthorization', mcpAuthorization({ agent, subjectToken: 'a.b.c' }));
    addMembers('McpProtection', mcpProtection(toolServer, { tools: { read: { scope: ['jira:read'] } } }));
    addMembers('Auditor', createAuditor({ keys: { keys: [publicJwk] } }));
    const protect = expressProtection(toolServer);
    addMembers('Express', {
      protect,
      middleware: protect({ scope: ['jira:read'] }),
      last: refuseUnknownRoutes(toolServer),
    });
    const startSpan = openTelemetrySpans();
    const span = startSpan({ method: 'GET', url: JIRA }, undefined);
    trace.disable();
    addMembers('Span', { startSpan, end: span.end });
    // The adapters pass its TypeError on to `onError`, and refuse the request.
    functions.set('ToolServer authorize', async (...args) => {
      const access = await toolServer.authorize(...(args as Parameters<typeof toolServer.authorize>));
      expect(access).to.include({ kind: 'refused', reason: 'internal_error' });
      throw reported.pop();
    });
    sent.length = 0;
  });

  const rows: Readonly<Record<string, readonly Case[]>> = {
    '@mandate/agent createAgent': [
      [
        [],
        `createAgent: ${NOT_OBJECT}; issuer must be an absolute https URL; agentId ${TEXT}; key must be { pem }, { jwk } or { alg, sign }.`,
      ],
      [
        [
          {
            issuer: SECRET,
            agentId: 7,
            key: SECRET,
            instance: ' ',
            timeoutMs: '10',
            patienceMs: 0,
            fetch: {},
            clock: { now: 1 },
            timeout: 10,
            [`${SECRET}-${SECRET}`]: 1,
          },
        ],
        `createAgent: issuer must be an absolute https URL; agentId ${TEXT}; key must be { pem }, { jwk } or { alg, sign }; instance must be a text of 1 to 128 characters that is not blank; timeoutMs ${MILLISECONDS}; patienceMs ${MILLISECONDS}; fetch must be a function; clock.now must be a function; clock.sleep must be a function; clock.random must be a function; timeout is not an option (accepted: issuer, agentId, key, instance, timeoutMs, patienceMs, fetch, clock); (a member with another name) is not an option (accepted: issuer, agentId, key, instance, timeoutMs, patienceMs, fetch, clock).`,
      ],
      [
        [{ issuer: ISSUER, agentId: 'a', key: { pem: SECRET, kid: 1, passphrase: SECRET } }],
        `createAgent: key.kid ${TEXT}; key.passphrase is not an option (accepted: pem, kid, alg).`,
      ],
      [
        [{ issuer: ISSUER, agentId: 'a', key: { alg: 'HS256', kid: '', sign: () => SECRET } }],
        `createAgent: key.alg must be ES256, PS256 or RS256; key.kid ${TEXT}.`,
      ],
      [
        [{ issuer: '', agentId: 'a', key: { jwk: { kty: 'EC', d: SECRET } } }],
        'createAgent: issuer must be an absolute https URL; key must be a private JWK: this JWK is no private key.',
      ],
    ],
    '@mandate/agent ApprovalRequired': [
      [
        [7, 'soon', ''],
        `new ApprovalRequired: approvalUri ${TEXT}; retryAfterMs must be a number of milliseconds; remark ${TEXT}.`,
      ],
    ],
    '@mandate/agent NotNow': [
      [['', 'soon'], `new NotNow: what ${TEXT}; retryAfterMs must be a number of milliseconds.`],
    ],
    '@mandate/agent Refused': [
      [
        [7, '', 'x', {}],
        `new Refused: error ${TEXT}; reason ${TEXT}; clockAheadSeconds must be a number of seconds; errorDescription ${TEXT}.`,
      ],
    ],
    '@mandate/agent TaskOver': [[[], `new TaskOver: reason ${TEXT}.`]],
    'Agent startTask': [
      [[], `agent.startTask: ${NOT_OBJECT}; subjectToken ${TOKEN}; resource ${ABSOLUTE}; scope ${SCOPES}.`],
      ...[undefined, null, '', ' ', `Bearer ${SECRET}`, {}].map(
        (subjectToken): Case => [
          [{ subjectToken, resource: JIRA, scope: ['a'] }],
          `agent.startTask: subjectToken ${TOKEN}.`,
        ],
      ),
      [
        [
          {
            subjectToken: 'a.b.c',
            resource: SECRET,
            scope: SECRET,
            origins: [JIRA, 'data:,', 7],
            onApproval: SECRET,
            approvalTimeoutMs: 0,
            scopes: ['a'],
          },
        ],
        `agent.startTask: resource ${ABSOLUTE}; scope ${SCOPES}; origins[1] must be an http or https URL; origins[2] must be an http or https URL; onApproval must be a function; approvalTimeoutMs ${MILLISECONDS}; scopes is not an option (accepted: subjectToken, resource, scope, purpose, origins, onApproval, approvalTimeoutMs).`,
      ],
      ...['', 'p'.repeat(301), `${SECRET}\n`, `${SECRET}\ud800`, 7, null].map(
        (purpose): Case => [
          [{ subjectToken: 'a.b.c', resource: JIRA, scope: ['a'], purpose }],
          `agent.startTask: purpose ${PURPOSE}.`,
        ],
      ),
    ],
    'Agent takeUp': [
      [[], 'agent.takeUp: offer must be a text that is not empty.'],
      [
        ['a.b.c', { scope: SECRET, origins: SECRET, onApproval: SECRET, scopes: ['a'] }],
        `agent.takeUp: scope ${SCOPES}; origins must be a list; onApproval must be a function; scopes is not an option (accepted: scope, purpose, origins, onApproval, approvalTimeoutMs).`,
      ],
    ],
    'Task handOver': [
      [[], `task.handOver: ${NOT_OBJECT}; to must be the id of an agent, without agent: before it; scope ${SCOPES}.`],
      [
        [{ to: SECRET, resource: SECRET, scope: SECRET, scopes: ['a'] }],
        `task.handOver: resource ${ABSOLUTE}; scope ${SCOPES}; scopes is not an option (accepted: to, resource, scope).`,
      ],
    ],
    'Task narrow': [
      [[], `task.narrow: scope ${SCOPES}.`],
      [['jira:read'], `task.narrow: scope ${SCOPES}.`],
      [[[undefined]], 'task.narrow: scope must hold only scopes: printable ASCII without quotes and backslashes.'],
    ],
    'Task fetch': [
      [[], 'task.fetch: input must be a URL or its text.'],
      [[new Request(JIRA), SECRET], 'task.fetch: input must be a URL or its text; init must be an object.'],
      [
        [JIRA, { headers: { 'x-key': `${SECRET}\n${SECRET}` } }],
        'task.fetch: init.headers must be HTTP headers: names and values of their allowed characters.',
      ],
      [[`https://${SECRET}.example/`], 'The origin of the address is not one of the origins of this task.'],
    ],
    '@mandate/agent/mcp mcpAuthorization': [
      [
        [],
        `mcpAuthorization: ${NOT_OBJECT}; agent must be made by createAgent; subjectToken must be an access token (a text without spaces), or a function that returns one.`,
      ],
      [
        [{ agent: {}, subjectToken: `Bearer ${SECRET}`, origins: SECRET, scope: [], scopes: [] }],
        `mcpAuthorization: agent must be made by createAgent; subjectToken must be an access token (a text without spaces), or a function that returns one; origins must be a list; scope ${SCOPES}; scopes is not an option (accepted: agent, subjectToken, resource, origins, scope, purpose); resource must be given with origins.`,
      ],
    ],
    'McpAuthorization saveDiscoveryState': [
      [[], `saveDiscoveryState: ${NOT_OBJECT}.`],
      [[{ resourceMetadata: SECRET }], 'saveDiscoveryState: resourceMetadata must be an object.'],
    ],
    'McpAuthorization validateResourceURL': [
      [[SECRET, 7], 'validateResourceURL: server must be a URL or its text; resource must be a text.'],
    ],
    'McpAuthorization prepareTokenRequest': [[[[SECRET]], 'prepareTokenRequest: scope must be a text.']],
    'McpAuthorization fetch': [
      [[], 'fetch: input must be a URL or its text.'],
      [['mcp', 'POST'], 'fetch: input must be a URL or its text; init must be an object.'],
    ],
    'McpAuthorization addClientAuthentication': [
      [
        [new Headers(), SECRET, SECRET],
        'addClientAuthentication: params must be URLSearchParams; url must be a URL or its text.',
      ],
    ],
    'McpAuthorization saveTokens': [[[SECRET], 'saveTokens: tokens must be an object.']],
    'McpAuthorization invalidateCredentials': [[[], `invalidateCredentials: scope ${TEXT}.`]],

    '@mandate/tool-server authorizationHeaders': [
      [[], 'authorizationHeaders: rawHeaders must be a list of names and values.'],
      [
        [[SECRET, 7], SECRET],
        'authorizationHeaders: rawHeaders must be a list of names and values; headers must be an object.',
      ],
    ],
    '@mandate/tool-server createToolServer': [
      [[], `createToolServer: ${NOT_OBJECT}; issuer must be an absolute https URL; audience ${ABSOLUTE}.`],
      [
        [
          {
            issuer: 'http://mandate.example',
            audience: SECRET,
            clockSkewSeconds: 301,
            requireActor: 'no',
            maxDelegationDepth: 1.5,
            timeoutMs: 0,
            realm: '\n',
            statusList: { maxAgeMs: 1, onStale: SECRET, maxAge: 1 },
            approvalKey: { pem: SECRET },
            onAccess: SECRET,
            onError: SECRET,
            fetch: SECRET,
            startSpan: SECRET,
            now: 7,
          },
        ],
        `createToolServer: issuer must be https: plain http is for a control plane on this machine; audience ${ABSOLUTE}; clockSkewSeconds must be a whole number from 0 to 300; requireActor must be true or false; maxDelegationDepth must be a whole number of 1 or more; timeoutMs must be a whole number from 1 to 60000; realm must be printable ASCII and not blank; statusList.maxAgeMs must be a whole number from 1000 to 600000; statusList.onStale must be introspect or refuse; statusList.maxAge is not an option (accepted: maxAgeMs, onStale); approvalKey.kid ${TEXT}; onAccess must be a function; onError must be a function; fetch must be a function; startSpan must be a function; now must be a function.`,
      ],
      ...(
        [
          [SECRET, 'approvalKey must be { jwk }, { pem, kid } or { alg, kid, sign }'],
          [{ jwk: SECRET }, 'approvalKey.jwk must be an object, and is a text: parse it with JSON.parse'],
          [
            { jwk: JSON.stringify({ kid: 'a', d: SECRET }) },
            'approvalKey.jwk must be an object, and is a text: parse it with JSON.parse',
          ],
          [
            { pem: Buffer.from(SECRET), kid: 'a' },
            'approvalKey.pem must be a text, and holds bytes: read the file with the encoding utf8',
          ],
          [{ pem: 7, kid: 'a' }, 'approvalKey.pem must be a text'],
          [{ alg: 'ES256', kid: 'a', sign: SECRET }, 'approvalKey.sign must be a function'],
          [{ kid: SECRET }, 'approvalKey must be { jwk }, { pem, kid } or { alg, kid, sign }'],
          [{ jwk: { kty: 'EC', d: SECRET } }, `approvalKey.jwk.kid ${TEXT}`],
          [{ jwk: { kid: 'a', d: SECRET } }, 'approvalKey must be a private JWK: this JWK is no private key'],
          [{ alg: 'RS256', sign: () => SECRET }, `approvalKey.alg must be ES256; approvalKey.kid ${TEXT}`],
        ] as const
      ).map(
        ([approvalKey, problem]): Case => [
          [{ issuer: ISSUER, audience: JIRA, approvalKey }],
          `createToolServer: ${problem}.`,
        ],
      ),
      [
        [{ issuer: ISSUER, issuers: [{ issuer: ISSUER }, { issuer: `${ISSUER}/`, audience: JIRA }], audience: JIRA }],
        'createToolServer: issuer must be absent beside issuers; issuers[1].audience is not an option (accepted: issuer, statusList, approvalKey, fetch); issuers[1].issuer must not name a control plane that an earlier one names.',
      ],
      [
        [{ issuer: ISSUER, audience: JIRA, requireActors: true }],
        'createToolServer: requireActors is not an option (accepted: issuer, issuers, audience, clockSkewSeconds, requireActor, maxDelegationDepth, timeoutMs, realm, statusList, approvalKey, onAccess, onError, fetch, startSpan, now).',
      ],
    ],
    'ToolServer policy': [
      [[], `toolServer.policy: ${NOT_OBJECT}; scope ${SCOPES}.`],
      [[{ scope: ['a b'] }], `toolServer.policy: scope ${NO_SPACES}.`],
      [[WRONG_POLICY], `toolServer.policy: ${POLICY} (accepted: ${POLICY_MEMBERS}).`],
    ],
    'ToolServer policyForAnyScope': [
      [[SECRET], `toolServer.policyForAnyScope: ${NOT_OBJECT}.`],
      [
        [{ scope: ['a'], highRisk: 1 }],
        'toolServer.policyForAnyScope: highRisk must be true or false; scope is not an option (accepted: highRisk, requireActor, maxDelegationDepth).',
      ],
    ],
    'ToolServer remainingMs': [
      [[], `toolServer.remainingMs: ${NOT_OBJECT}; exp must be a number of seconds.`],
      [[{ exp: SECRET }], 'toolServer.remainingMs: exp must be a number of seconds.'],
    ],
    'ToolServer authorize': [
      [
        [],
        `toolServer.authorize: ${NOT_OBJECT}; route must be the name of the route, or null; policy must be a policy of this tool server, unknown_route, unknown_tool or malformed_request.`,
      ],
      [
        [{ route: 7, policy: SECRET, headers: SECRET, objection: 1, lastCheck: 1, approval: 1, path: SECRET }],
        'toolServer.authorize: route must be the name of the route, or null; policy must be a policy of this tool server, unknown_route, unknown_tool or malformed_request; headers must be an object; objection must be a function; lastCheck must be a function; approval must be a function; path is not an option (accepted: route, policy, headers, objection, lastCheck, approval, asks, authorization, token); authorization or token must be given.',
      ],
      [
        [{ route: null, policy: 'unknown_route', authorization: [SECRET, 7], token: {} }],
        'toolServer.authorize: authorization must be the text of the Authorization header, or the list of all of them; token must be the text of the token.',
      ],
      [[{ route: null, policy: { scope: ['a'] }, token: SECRET }], 'The policy was not made by this tool server.'],
    ],
    '@mandate/tool-server/express expressProtection': [[[{ issuer: ISSUER }], `expressProtection: ${MADE}.`]],
    '@mandate/tool-server/express refuseUnknownRoutes': [[[], `refuseUnknownRoutes: ${MADE}.`]],
    '@mandate/tool-server/express claimsOf': [[[SECRET], 'claimsOf: request must be an object.']],
    'Express protect': [
      [[], `protect: ${NOT_OBJECT}; scope ${SCOPES}.`],
      [
        [{ ...WRONG_POLICY, highrisk: undefined, approval: true, name: 7 }],
        `protect: ${POLICY.replace('highrisk is not an option', `approval must be a function; name ${TEXT}`)}.`,
      ],
      [
        [{ scope: ['a'], approval: () => ({ title: 'a' }) }],
        'protect: a policy with approval needs the option approvalKey of createToolServer.',
      ],
    ],
    'Express middleware': [[[], MIDDLEWARE]],
    'Express last': [[[], MIDDLEWARE]],
    '@mandate/tool-server/fastify mandateProtection': [
      [[{}, {}], `mandateProtection: ${MADE}.`],
      [
        [{}, { toolServer: {}, open: ['GET /a', SECRET, 'get /b'], opened: [] }],
        `mandateProtection: ${MADE}; open[1] must be a method and a pattern, such as GET /healthz; open[2] must be a method and a pattern, such as GET /healthz; opened is not an option (accepted: toolServer, open, prefix, logLevel, logSerializers).`,
      ],
    ],
    '@mandate/tool-server/fastify claimsOf': [[[], 'claimsOf: request must be an object.']],
    '@mandate/tool-server/mcp mcpProtection': [
      [[], `mcpProtection: ${MADE}; ${NOT_OBJECT}; tools must be an object.`],
      [
        [
          {},
          {
            tools: {
              read_issue: { scope: [] },
              delete_issue: { scope: ['a'], authorize: SECRET, approval: 1, highrisk: true },
            },
            methods: { 'resources/read': { scope: ['a'], authorize: () => true } },
            maxBodyBytes: 0,
            maxHeldBodies: 10_001,
            authorizeTimeoutMs: 60_001,
            list: SECRET,
          },
        ],
        `mcpProtection: ${MADE}; tools.read_issue.scope ${SCOPES}; tools.delete_issue.authorize must be a function; tools.delete_issue.approval must be a function; tools.delete_issue.highrisk is not an option (accepted: ${POLICY_MEMBERS}, authorize, approval); methods.resources/read.authorize is not an option (accepted: ${POLICY_MEMBERS}); maxBodyBytes must be a whole number of 1 or more; maxHeldBodies must be a whole number from 1 to 10000; authorizeTimeoutMs must be a whole number from 1 to 60000; list must be all or allowed.`,
      ],
    ],
    '@mandate/tool-server/mcp claimsOf': [[[], 'claimsOf: context must be an object.']],
    'McpProtection guard': [[[], MIDDLEWARE]],
    'McpProtection metadata': [[[], MIDDLEWARE]],
    'McpProtection allowedLists': [[[{ fetch: SECRET }], 'allowedLists: fetch must be a function.']],
    'Span startSpan': [
      [
        [{ url: SECRET }, SECRET],
        `startSpan: request.method ${TEXT}; request.url must be the text of a URL; cause must be an object.`,
      ],
    ],
    'Span end': [[[SECRET], 'span.end: status must be a status code.']],

    '@mandate/audit createAuditor': [
      [[], `createAuditor: ${NOT_OBJECT}; keys must be an object; keys.keys must be a list.`],
      [
        [{ keys: { keys: [{ kty: 'RSA' }] }, recordedKeys: { keys: {}, records: [{ proof: SECRET }] }, key: SECRET }],
        'createAuditor: keys must be a key set that holds a usable key: this set holds no EC key on P-256 with a kid; recordedKeys.keys must be a list; recordedKeys.records[0].record must be of the published form: The record is no object; recordedKeys.records[0].proof must be of the published form: The proof is no object; key is not an option (accepted: keys, recordedKeys).',
      ],
    ],
    '@mandate/audit verifyBundle': [
      [[], 'verifyBundle: text must be a text, or its parts one after the other: give a stream an encoding.'],
      [
        [Buffer.from(SECRET), { policy: 7, demands: SECRET }],
        'verifyBundle: text must be a text, or its parts one after the other: give a stream an encoding; options.policy must be the content or the text of a policy file; options.demands is not an option (accepted: policy).',
      ],
      [[[Buffer.from(SECRET)]], 'verifyBundle: each part of text must be a text: give a stream an encoding.'],
      [
        [SECRET, { policy: SECRET }],
        'verifyBundle: options.policy is refused. A policy is a JSON object with no other members than checkpoint_keys, log_keys, witnesses, quorum, each at most once.',
      ],
    ],
    'Auditor verifyRecord': [
      [
        [],
        'verifyRecord: record must be a record as published, parsed from JSON; proof must be a proof as published, parsed from JSON.',
      ],
    ],
    'Auditor verifyCheckpoints': [
      [[], 'verifyCheckpoints: checkpoints must be a list.'],
      [
        [SECRET, { marks: [SECRET, 7], more: 1, before: SECRET }],
        'verifyCheckpoints: checkpoints must be a list; options.marks[1] must be a text; options.more must be true or false; options.before is not an option (accepted: after, marks, more).',
      ],
    ],
    'Auditor verifySealed': [
      [[], 'verifySealed: checkpoint must be a checkpoint as published, parsed from JSON; records must be a list.'],
    ],
    'Auditor leafHash': [[[SECRET], 'leafHash: record must be a record as published. The record is no object.']],
  };

  it('has a row here, or takes no argument', () => {
    expect([...functions.keys()]).to.have.members([...Object.keys(rows), ...WITHOUT_ARGUMENTS]);
  });

  for (const [name, cases] of Object.entries(rows)) {
    it(`names all wrong arguments in one TypeError, sends nothing and repeats nothing: ${name}`, async () => {
      const call = functions.get(name) ?? expect.fail('is not exported');
      for (const [args, message] of cases) {
        const error = (await thrownBy((async () => call(...args))())) as TypeError;
        expect(error).to.be.instanceOf(TypeError).with.property('message', message);
        expect(`${error.stack} ${String(error.cause)}`).not.to.include(SECRET);
      }
      expect(sent).to.deep.equal([]);
    });
  }
});
