/** Checks the OpenAPI document by itself, and compares it with the routes and refusals of the code. */

import { readdirSync, readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import { routing } from '../../../adapters/http/app.ts';
import { statusOf } from '../../../adapters/http/oauth/answers.ts';
import { denialReasons, describeDenial } from '../../../domain/denial.ts';
import {
  anyPathResponses,
  apiDocument,
  below,
  examplesOf,
  isNode,
  nodeAt,
  operationOf,
  operations,
  problemsOf,
} from '../../support/openapi/api-document.ts';
import { troubledService } from '../../support/openapi/troubled-service.ts';
import { SOME_APPROVALS } from '../../support/tool-server/approval-request.ts';

const packageJson = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

const http = new URL('../../../adapters/http/', import.meta.url);
/** No part of the service's API: pages and forms, which are for browsers, and the server of `mandate witness`. */
const OTHERS = ['me/sign-in-router.ts', 'me/page-router.ts', 'authorize/', 'browser/', 'console/', 'witness/'];
/** The source of each file that imports Express. */
const routers = readdirSync(http, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !OTHERS.some((other) => name.startsWith(other)))
  .map((name) => readFileSync(new URL(name, http), 'utf8'))
  .filter((source) => /from 'express'/.test(source));
const mounted = routers.flatMap((source) => [...source.matchAll(/\.use\('([^']+)'/g)].map(([, path = '']) => path));
/** Matches a parameter of a path, or a value that the code inserts into it. */
const PARAMETER = /[:*]\w+|\$\{[^}]*\}/g;

/** The paths of the document, except `/metrics`, which a separate listener serves. */
const paths = [...new Set(operations.map(({ path }) => path))].filter((path) => path !== '/metrics');

/** The statuses in the specification's "Endpoints", "Authentication" and "Errors", except for admission control. */
const CONTRACT: Readonly<Record<string, readonly number[]>> = {
  requestToken: [200, 400, 401, 503],
  introspectToken: [200, 400, 503],
  revokeToken: [200, 400, 401, 503],
  getOpenIdConfiguration: [200],
  getServiceKeys: [200],
  getAgentKeys: [200, 404],
  getHealth: [200],
  getReadiness: [200, 503],
  listAgents: [200, 401, 503],
  registerAgent: [201, 400, 401, 409, 503],
  getAgent: [200, 401, 404, 503],
  updateAgent: [200, 400, 401, 404, 503],
  deleteAgent: [204, 401, 404, 409, 503],
  stopAgentTasks: [200, 401, 404, 503],
  stopTask: [200, 401, 404, 503],
  getSponsor: [200, 400, 401, 404, 503],
  blockSponsor: [200, 400, 401, 503],
  listActs: [200, 400, 401, 403, 503],
  listTasks: [200, 400, 401, 403, 503],
  getTask: [200, 401, 403, 404, 503],
  listBlocks: [200, 400, 401, 403, 503],
  streamRecords: [200, 400, 401, 403, 503],
  unblockSponsor: [202, 204, 400, 401, 404, 409, 503],
  stopSponsorTasks: [200, 400, 401, 503],
  readLedger: [200, 400, 401, 503],
  listCheckpoints: [200, 400, 401, 503],
  proveRecord: [200, 401, 404, 410, 500, 503],
  listMyTasks: [200, 400, 401, 503],
  stopMyTasks: [200, 401, 403, 503],
  stopMyTask: [200, 401, 403, 404, 503],
  stopMyAgent: [200, 401, 403, 503],
  pauseMyAgents: [200, 401, 403, 404, 503],
  resumeMyAgents: [204, 401, 403, 404, 409, 503],
  listMyApprovals: [200, 401, 503],
  answerMyApproval: [200, 400, 401, 403, 404, 409, 415, 503],
  readMyRecords: [200, 400, 401, 503],
  proveMyRecord: [200, 401, 404, 410, 500, 503],
  receiveLogout: [200, 400, 404, 503],
  receiveEvent: [202, 400, 401, 404, 503],
  listUsers: [200, 400, 401, 404],
  createUser: [201, 400, 401, 404, 409, 415, 507],
  getUser: [200, 401, 404],
  replaceUser: [200, 400, 401, 404, 409, 412, 415],
  patchUser: [200, 400, 401, 404, 409, 412, 415],
  deleteUser: [204, 401, 404, 412],
  getServiceProviderConfig: [200, 401, 404],
};

const FORM = 'application/x-www-form-urlencoded';

describe('openapi.json', () => {
  it('is valid by the official schema of OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(apiDocument));
    expect(valid, JSON.stringify(errors)).to.equal(true);
  });

  it('has the version of the package', () => {
    expect(nodeAt('/info').value.version).to.equal(packageJson.version);
  });

  it('has each path that the code registers once, and no others', async () => {
    const service = await troubledService(SOME_APPROVALS);
    const { endpoints, optional } = routing(service.surfaces);
    await service.stop();
    const mounts = [...mounted, ...optional.filter(({ isExact }) => !isExact).map(({ path }) => path)];
    const registered = [...endpoints.keys(), ...routers.flatMap(registeredPaths), ...operatorPaths()];
    const found = registered.map((path) => {
      const below = ['', ...mounts, ...mounts.flatMap((mount) => mounts.map((inner) => `${mount}${inner}`))];
      const pattern = new RegExp(`^(?:${below.join('|')})${path === '/' ? '' : path.replace(PARAMETER, '[^/]+')}$`);
      return paths.filter((one) => pattern.test(one));
    });
    expect(registered.filter((_path, index) => found[index]?.length === 0)).to.deep.equal([]);
    expect(found.flat()).to.include.members(paths);
    expect(registered).to.have.lengthOf(paths.length);
    for (const mount of mounts) expect(paths.join(' '), mount).to.include(`${mount}/`);
  });

  it('has no parameter of a form that a refusal would not name', async () => {
    const added = {
      'Service:Exchange:AudienceParameter': 'true',
      'Service:Tasks:Purpose': 'accept',
      'Service:Me:ClientId': 'the-page',
      'Service:Authorize:ClientId': 'the-door',
    };
    const service = await troubledService({ ...SOME_APPROVALS, ...added });
    const url = await service.serve();
    const headers = { 'content-type': FORM };
    const unnamed: string[] = [];
    // A client registers with JSON.
    const forms = operations.filter(({ body }) => Object.keys(body?.value.content ?? {}).includes(FORM));
    for (const { path, body } of forms.filter(({ path }) => path.startsWith('/oauth2/'))) {
      const names = propertiesIn(body?.value);
      expect(names, path).not.to.deep.equal([]);
      for (const name of names) {
        const answer = await fetch(`${url}${path}`, { method: 'POST', headers, body: `${name}=a&${name}=b` });
        if (!(await answer.text()).includes(`The parameter ${name} is repeated.`)) unnamed.push(`${path} ${name}`);
      }
    }
    await service.stop();
    expect(unnamed).to.deep.equal([]);
  });

  it('names each operation once', () => {
    expect(new Set(operations.map(({ id }) => id)).size).to.equal(operations.length);
  });

  it('has only examples that their schemas accept', () => {
    const described = operations.flatMap(({ body, responses }) => [...(body ? [body] : []), ...responses.values()]);
    for (const { pointer, schema, value } of [...described, ...anyPathResponses.values()].flatMap(examplesOf)) {
      expect(problemsOf(schema, value), pointer).to.equal(undefined);
    }
    for (const { value, pointer } of operations.flatMap(({ parameters }) => parameters)) {
      if (value.example !== undefined) {
        expect(problemsOf(below(pointer, 'schema'), value.example), pointer).to.equal(undefined);
      }
    }
  });

  it('lists every status that the specification names', () => {
    for (const [id, statuses] of Object.entries(CONTRACT)) {
      const admission = id === 'getHealth' || id === 'getReadiness' ? [] : [429, 503];
      expect([...operationOf(id).responses.keys()], id).to.include.members([...statuses, ...admission]);
    }
    const others = operations.map(({ id }) => id).filter((id) => !(id in CONTRACT));
    // The specification does not list these; its supplement, the draft on status lists, C2SP tlog-tiles, RFC 7644 §4 and docs/operating.md do, and docs/refusals.md.
    expect(others).to.deep.equal([
      ...[
        'askApproval',
        'registerClient',
        'getServerMetadata',
        'listStatusLists',
        'getStatusList',
        'getMetrics',
        'stopEverything',
        'getTaskTree',
        'getLogCheckpoint',
        'listLogKeys',
        'getLogTile',
        'refuseMyAgentsDelegation',
        'allowMyAgentsDelegation',
        'listResourceTypes',
        'getUserResourceType',
        'listSchemas',
      ],
      'getUserSchema',
    ]);
  });

  it('has an example in each answer with a body, except those of metrics and tiles', () => {
    const untold = operations.flatMap(({ id, responses }) =>
      [...responses].flatMap(([status, response]) =>
        response.value.content !== undefined && examplesOf(response).length === 0 ? [`${id} ${status}`] : [],
      ),
    );
    // docs/operating.md describes the text that Prometheus scrapes, and docs/operators.md a stream.
    expect(untold).to.deep.equal(['getMetrics 200', 'streamRecords 200', 'getLogTile 200']);
  });

  it('uses each of its components', () => {
    const references = new Set(referencesIn(apiDocument));
    for (const kind of ['parameters', 'headers', 'responses', 'schemas']) {
      for (const name of Object.keys(nodeAt(`/components/${kind}`).value)) {
        expect(references).to.include(`#/components/${kind}/${name}`);
      }
    }
  });

  it('lists the reasons of all refusals by their error code, and has the status of each code', () => {
    const listed = nodeAt<Record<string, readonly string[]>>('/components/schemas/OAuthError/x-reasons').value;
    const byCode: Record<string, string[]> = {};
    for (const reason of denialReasons) {
      const { error } = describeDenial(reason);
      byCode[error] = [...(byCode[error] ?? []), reason];
      const statuses = ['requestToken', 'revokeToken'].flatMap((id) => [...operationOf(id).responses.keys()]);
      expect(statuses).to.include(statusOf(error));
    }
    expect(listed).to.deep.equal(byCode);
  });
});

/** The paths of `/admin` and `/audit`, from the names of routes in the tables of their handlers. */
function operatorPaths(): ReadonlySet<string> {
  const names = routers.flatMap((source) => [...source.matchAll(/'[A-Z]+ (\/[^']+)': [\w(]/g)]);
  return new Set(names.map(([, path = '']) => path.replaceAll(/\{(\w+)\}/g, ':$1')));
}

/** The paths that a file registers with Express. @throws for a call whose path this function cannot read */
function registeredPaths(source: string): readonly string[] {
  const calls = [
    ...source.matchAll(/\b(?:app|router)\s*\.(?:all|delete|get|head|options|patch|post|put|route)\(\s*([^,)]+)/g),
  ];
  for (const [, name] of source.matchAll(/(\w+) = (?:express\.)?(?:express|Router)\(/g)) {
    if (name !== 'app' && name !== 'router') throw new Error(`call it app or router: ${name}`);
  }
  // The routing itself tells the rows of optional paths.
  if (/\.use\(\s*(?!row\.path)[\w.]+,/.test(source)) throw new Error('write the path of a mount where it is used');
  return [...new Set(calls.map(([, path = '']) => path))].flatMap((path) => {
    if (path.startsWith("'")) return [path.slice(1, -1)];
    if (path === 'PATH') return [/const PATH = '(.+)';/.exec(source)?.[1] ?? ''];
    if (path !== 'path') throw new Error(`cannot read the path ${path}`);
    // The file registers the paths of a table, whose rows begin with a path.
    return [...source.matchAll(/\[(?:'(\/[^']*)'|`(\/[^`]*)`), /g)].map(
      ([, plain, template]) => plain ?? template ?? '',
    );
  });
}

/** The names of the members that a body may have. */
function propertiesIn(node: unknown): readonly string[] {
  if (!isNode(node)) return [];
  const { $ref, properties, content, schema, oneOf } = node;
  if (typeof $ref === 'string') return propertiesIn(nodeAt($ref.slice(1)).value);
  if (isNode(properties)) return Object.keys(properties);
  return [...(isNode(content) ? Object.values(content) : []), schema, ...(Array.isArray(oneOf) ? oneOf : [])].flatMap(
    propertiesIn,
  );
}

function referencesIn(node: unknown): readonly string[] {
  if (!isNode(node)) return [];
  return [...(typeof node.$ref === 'string' ? [node.$ref] : []), ...Object.values(node).flatMap(referencesIn)];
}
