/** The OpenAPI document by itself, and against the routes and refusals of the code. */

import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { expect } from 'chai';
import type { Router } from 'express';
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

const packageJson = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'));

/** Served by a separate listener. */
const METRICS = 'GET /metrics';

/** The statuses in the specification's "Endpoints", "Authentication" and "Errors", but for those of admission. */
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
  unblockSponsor: [204, 400, 401, 404, 409, 503],
  stopSponsorTasks: [200, 400, 401, 503],
  readLedger: [200, 400, 401, 503],
  listCheckpoints: [200, 400, 401, 503],
  proveRecord: [200, 401, 404, 410, 500, 503],
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

describe('openapi.json', () => {
  it('is valid by the official schema of OpenAPI 3.1', async () => {
    const { valid, errors } = await new Validator().validate(structuredClone(apiDocument));
    expect(valid, JSON.stringify(errors)).to.equal(true);
  });

  it('has the version of the package', () => {
    expect(nodeAt('/info').value.version).to.equal(packageJson.version);
  });

  it('has one operation for each route and method of the service, and no others', async () => {
    const service = await troubledService({});
    const { endpoints, app } = routing(service.surfaces);
    const routes = [...[...endpoints.keys()].map((path) => `POST ${path}`), ...routesOf(app.router, '')];
    await service.stop();
    const documented = operations.map(({ method, path }) => `${method.toUpperCase()} ${namelessly(path)}`);
    expect(documented.filter((route) => route !== METRICS)).to.have.members([...new Set(routes)]);
    expect(new Set(documented).size).to.equal(documented.length);
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
    // Not in the specification: its supplement, RFC 7644 §4 and docs/operating.md have them.
    expect(others).to.deep.equal([
      ...['getServerMetadata', 'getMetrics', 'listResourceTypes', 'getUserResourceType', 'listSchemas'],
      'getUserSchema',
    ]);
  });

  it('has an example in each answer with a body', () => {
    const untold = operations.flatMap(({ id, responses }) =>
      [...responses].flatMap(([status, response]) =>
        response.value.content !== undefined && examplesOf(response).length === 0 ? [`${id} ${status}`] : [],
      ),
    );
    // The text of a scrape belongs to docs/operating.md.
    expect(untold).to.deep.equal(['getMetrics 200']);
  });

  it('uses each of its components', () => {
    const references = new Set(referencesIn(apiDocument));
    for (const kind of ['parameters', 'headers', 'responses', 'schemas']) {
      for (const name of Object.keys(nodeAt(`/components/${kind}`).value)) {
        expect(references).to.include(`#/components/${kind}/${name}`);
      }
    }
  });

  it('lists the reasons of the catalogue by their code, and answers each code with its status', () => {
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

/** An entry of Express's router. Its types name only `route` and `handle`; version 2.3 of `router` has `rawPath` too. */
interface Layer {
  readonly route?: { readonly path: string; readonly methods: Readonly<Record<string, boolean>> };
  readonly handle: { readonly stack?: readonly Layer[] };
  readonly rawPath: string;
}

/** The routes of a router and of those mounted in it. `.all` answers 405, and is no method. */
function routesOf(router: Router, prefix: string): readonly string[] {
  return (router.stack as unknown as readonly Layer[]).flatMap(({ route, handle, rawPath }) => {
    if (route !== undefined) {
      const path = pathOf(`${prefix}${route.path === '/' && prefix !== '' ? '' : route.path}`);
      const methods = Object.keys(route.methods).filter((method) => method !== '_all');
      return methods.map((method) => `${method.toUpperCase()} ${path}`);
    }
    if (handle.stack === undefined) return [];
    return routesOf(handle as unknown as Router, `${prefix}${rawPath === '/' ? '' : rawPath}`);
  });
}

/** The code and the document name the parameters of a path differently. */
function namelessly(path: string): string {
  return path.replace(/\{\w+\}/g, '{}');
}

/** Express's notation: a backslash escapes a colon that begins no parameter. */
function pathOf(pattern: string): string {
  return pattern.replace(/(?<!\\):\w+/g, '{}').replaceAll('\\', '');
}

function referencesIn(node: unknown): readonly string[] {
  if (!isNode(node)) return [];
  return [...(typeof node.$ref === 'string' ? [node.$ref] : []), ...Object.values(node).flatMap(referencesIn)];
}
