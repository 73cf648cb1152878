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
