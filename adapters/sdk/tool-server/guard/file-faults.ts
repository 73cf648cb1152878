/** The faults of the guard's file: of each field, and what fields require of each other. */

import { isLoopback } from '../../../../domain/address.ts';
import type { PlacedDocuments, PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { isJsonObject, type Json, member } from '../../../../domain/tokens/strict-json.ts';
import { DEFAULT_LISTEN, FIELDS, FILE, type Field } from './configuration.ts';
import { filePolicies } from './file-policies.ts';
import { fileSchemas, type PlacedClause, placed } from './file-schemas.ts';
import { fieldOf, type Path } from './kind.ts';

/** All faults of the file, by line. */
export function guardFileFaults({ mappings, problems }: PlacedDocuments): readonly PlacedClause[] {
  const [mapping, ...others] = mappings;
  const faults = mapping === undefined ? [] : [...fieldFaults(mapping), ...relationFaults(mapping)];
  return [
    ...problems.map(({ line, sentence: clause }) => ({ line, clause })),
    ...faults,
    ...others.map(({ line }) => ({ line, clause: 'the file must hold one document' })),
  ].sort((one, other) => one.line - other.line);
}

/** The reader has reported unreadable fields already. */
function fieldFaults({ fields, unread, lineOf }: PlacedMapping): readonly PlacedClause[] {
  const faults: PlacedClause[] = [];
  FILE.check(Object.fromEntries([...fields].map(([name, { value }]) => [name, value])), [], (path, clause) => {
    if (!unread.has(String(path[0]))) faults.push({ line: lineOf(path), clause });
  });
  return faults;
}

export const PROXY_ONLY = Object.entries<Field<unknown>>(FIELDS)
  .filter(([, { isForProxy }]) => isForProxy)
  .map(([member]) => fieldOf(member));

/** `guardSchema` of test/adapters/sdk/tool-server/guard/guard-file.ts says the same in JSON Schema. */
function relationFaults(mapping: PlacedMapping): readonly PlacedClause[] {
  const { fields, unread, line } = mapping;
  const has = (name: string) => fields.has(name) || unread.has(name);
  const value = (name: string) => fields.get(name)?.value;
  const mode = value('mode');
  const listen = value('listen') ?? DEFAULT_LISTEN;
  const approvals = filePolicies(mapping).flatMap(({ path, policy }) =>
    member(policy, 'approval') === undefined ? [] : [[...path, 'approval']],
  );
  const rules = fileSchemas(mapping).filter(({ member: name }) => name === 'arguments');
  const faults: PlacedClause[] = [];
  const at = (path: Path, clause: string) => faults.push(placed(mapping, path, clause));

  if (mode === 'proxy' && !has('upstream')) at(['upstream'], 'must be given in the mode proxy');
  if (isOwn(value('upstream'), listen)) {
    at(['upstream'], 'must not be the address of listen: the guard would ask itself');
  }
  if (mode === 'decide') {
    const given = PROXY_ONLY.filter(has).map((name) => [name]);
    const ruled = rules.map(({ path }) => path);
    for (const path of [...given, ...approvals, ...ruled]) at(path, 'is only for the mode proxy');
  } else if (approvals.length > 0 && !has('approval_key')) at(['approval_key'], 'must be given with an approval');
  for (const { path, match = '' } of rules) {
    if (/^(?:GET|HEAD) /.test(match))
      at(path, 'must be absent: a request with GET or HEAD has no body that the rules could read');
  }
  if (!has('mcp') && (!has('routes') || isEmptyList(value('routes')))) {
    faults.push({ line, clause: 'routes or mcp must be given: otherwise no token allows any request' });
  }
  const mcp = value('mcp');
  const methods = isJsonObject(mcp) ? member(mcp, 'methods') : undefined;
  if (isJsonObject(methods) && member(methods, 'tools/call') !== undefined) {
    at(['mcp', 'methods', 'tools/call'], 'must be absent: mcp.tools has the policies of tools');
  }
  const metrics = value('metrics_port');
  if (typeof listen === 'string' && typeof metrics === 'number' && listen.endsWith(`:${metrics}`)) {
    at(['metrics_port'], 'must differ from the port of listen');
  }
  return faults;
}

/** Whether the guard could be its own upstream. An open request would go round without end. */
function isOwn(upstream: Json | undefined, listen: Json): boolean {
  if (typeof upstream !== 'string' || typeof listen !== 'string' || !URL.canParse(upstream)) return false;
  const own = URL.canParse(`http://${listen}`) ? new URL(`http://${listen}`) : undefined;
  const { protocol, hostname, port } = new URL(upstream);
  if (own === undefined || !isLoopback(hostname) || protocol === 'https:' || own.port !== port) return false;
  const isEverywhere = own.hostname === '0.0.0.0' || own.hostname === '[::]';
  return isEverywhere || own.hostname === hostname || [own.hostname, hostname].includes('localhost');
}

function isEmptyList(value: Json | undefined): boolean {
  return Array.isArray(value) && value.length === 0;
}
