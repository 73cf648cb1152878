/**
 * Remarks on a file without faults: patterns that can lose a request to an earlier one, and names that other programs would
 * take for placeholders.
 */

import type { PlacedMapping } from '../../../../domain/placed-mapping.ts';
import { isJsonObject, type Json, member, textMember } from '../../../../domain/tokens/strict-json.ts';
import { comparable, matchesRoute, overlaps, type RouteMatch, readRouteMatch } from './route-match.ts';

interface PlacedMatch extends RouteMatch {
  readonly line: number;
  readonly isOpen: boolean;
}

/** A pattern, and what decides a request that both match. */
interface Overlap {
  readonly pattern: string;
  readonly line: number;
  readonly winner: { readonly name: string; readonly line: number };
}

/**
 * Every two parts of a file that some request matches: two patterns, or `mcp.path` and a pattern.
 *
 * @param mapping the document of a file without faults
 */
export function overlapsOf(mapping: PlacedMapping): readonly Overlap[] {
  const patterns = patternsOf(mapping);
  const ofMcp = patterns.filter((match) => coversMcpPath(match, mapping));
  const mcp = { name: 'mcp.path', line: mapping.lineOf(['mcp', 'path']) };
  return [
    ...ofMcp.map(({ pattern, line }) => ({ pattern, line, winner: mcp })),
    ...patterns.flatMap((first, at) => {
      const winner = { name: first.pattern, line: first.line };
      const later = patterns.slice(at + 1).filter((other) => overlaps(first, other));
      return later.map(({ pattern, line }) => ({ pattern, line, winner }));
    }),
  ];
}

/** The guard compares `mcp.path` before any pattern, whatever the method, but lets an open one with this path have OPTIONS. */
function coversMcpPath(match: PlacedMatch, { fields }: PlacedMapping): boolean {
  if (match.isOpen && match.method === 'OPTIONS' && !match.isPrefix) return false;
  const mcp = fields.get('mcp')?.value;
  const path = isJsonObject(mcp) ? textMember(mcp, 'path') : undefined;
  return path !== undefined && matchesRoute(match, match.method, comparable(path));
}

/** In the order in which they are compared. Routes precede what is open. */
function patternsOf({ fields, lineOf }: PlacedMapping): readonly PlacedMatch[] {
  const entries = (name: string) => {
    const value = fields.get(name)?.value;
    const isOpen = name === 'open';
    return Array.isArray(value) ? value.map((entry: Json, at) => ({ entry, isOpen, line: lineOf([name, at]) })) : [];
  };
  return [...entries('routes'), ...entries('open')].flatMap(({ entry, isOpen, line }) => {
    const written = isJsonObject(entry) ? textMember(entry, 'match') : entry;
    const match = typeof written === 'string' ? readRouteMatch(written) : undefined;
    return match === undefined ? [] : [{ ...match, isOpen, line }];
  });
}

interface LiteralName {
  readonly line: number;
  /** The pattern, or the path of the field. */
  readonly name: string;
  /** What reads like a placeholder. */
  readonly taken: string;
}

/**
 * Names that other programs would take for placeholders: `:key` in a pattern, and `*` for every tool.
 *
 * @param mapping the document of a file without faults
 */
export function literalNames(mapping: PlacedMapping): readonly LiteralName[] {
  const mcp = mapping.fields.get('mcp')?.value;
  const ofMcp = (['tools', 'methods'] as const).flatMap((section): LiteralName[] => {
    const named = isJsonObject(mcp) ? member(mcp, section) : undefined;
    const stars = isJsonObject(named) ? Object.keys(named).filter((name) => name.includes('*')) : [];
    return stars.map((name) => ({ line: mapping.lineOf(['mcp', section, name]), name: `mcp.${section}`, taken: '*' }));
  });
  const ofPatterns = patternsOf(mapping).flatMap(({ pattern, path, line }): LiteralName[] => {
    const [, taken] = /\/(:\w+)/.exec(path) ?? [];
    return taken === undefined ? [] : [{ line, name: pattern, taken }];
  });
  return [...ofPatterns, ...ofMcp];
}
