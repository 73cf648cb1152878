/** The policies in the guard's file, of its routes and of its tools. The file can have faults. */

import type { PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { isJsonObject, type Json, type JsonObject, member } from '../../../../domain/tokens/strict-json.ts';
import type { Path } from './kind.ts';

interface FilePolicy {
  readonly of: 'route' | 'tool';
  readonly path: Path;
  readonly policy: JsonObject;
}

/** In the order of the file's sections. A policy that is no mapping is left out. */
export function filePolicies({ fields }: Pick<PlacedMapping, 'fields'>): readonly FilePolicy[] {
  const [routes, mcp] = [fields.get('routes')?.value, fields.get('mcp')?.value];
  const tools = isJsonObject(mcp) ? member(mcp, 'tools') : undefined;
  const ofRoutes = Array.isArray(routes) ? routes.map((value: Json, at) => ({ path: ['routes', at], value })) : [];
  const ofTools = Object.entries(isJsonObject(tools) ? tools : {}).map(([name, value]) => ({
    path: ['mcp', 'tools', name],
    value,
  }));
  const policies = (
    of: FilePolicy['of'],
    found: readonly { readonly path: Path; readonly value: Json | undefined }[],
  ) => found.flatMap(({ path, value }) => (isJsonObject(value) ? [{ of, path, policy: value }] : []));
  return [...policies('route', ofRoutes), ...policies('tool', ofTools)];
}
