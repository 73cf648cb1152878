/** The kinds of values that the fields of the guard's file have: single ones, policies and approvals. */

import { audienceProblem, isLoopback, issuerProblem } from '../../../../domain/address.ts';
import { MAX_LABEL, MAX_LINES, MAX_TITLE } from '../../../../domain/approvals/approval-request.ts';
import type { Scope } from '../../../../domain/scope.ts';
import { isJsonObject, type Json, type JsonObject } from '../../../../domain/tokens/strict-json.ts';
import { type Check, flag, must, oneOf, textWithout, wholeNumber } from '../../arguments.ts';
import { scopes } from '../../scope-list.ts';
import { labelCheck, titleCheck } from '../core/approval-text.ts';
import { depth, MAX_ISSUERS, REPEATED, repeatedIssuers } from '../core/options.ts';
import type { RoutePolicy } from '../core/policy.ts';
import { schemaFaults } from '../schema/faults.ts';
import { type ArgumentPath, readArgumentPath } from './argument-path.ts';
import { type Kind, type Kinds, list, mapped, named, nameOf, optionally, section, single } from './kind.ts';
import { isPlainPath } from './request-target.ts';
import { type RouteMatch, readRouteMatch, routeMatchProblem } from './route-match.ts';
import { tellsWhoSignedIn } from './signed-in-headers.ts';

export interface ListenAddress {
  /** An IPv6 address without brackets. */
  readonly host: string;
  readonly port: number;
}

export interface GuardPolicy extends RoutePolicy {
  readonly approval?: Approval;
  /** A schema of the JSON that each call must meet. */
  readonly arguments?: Json;
}

export interface GuardRoute extends GuardPolicy {
  readonly match: RouteMatch;
}

export interface Approval {
  readonly title: string;
  readonly lines: readonly {
    readonly label: string;
    /** In the body, or in the arguments of a tool. */
    readonly path: ArgumentPath;
  }[];
  /** A schema of the JSON of calls that need no yes. */
  readonly unless?: Json;
}

export const textOf = (check: Check, rules: JsonObject = {}) => single<string>(check, { type: 'string', ...rules });

export const url = (problemOf: (text: string) => string | undefined) => textOf(textWithout(problemOf), URI);
const URI = { format: 'uri' };

const oneIssuer = url(issuerProblem);
const severalIssuers = list(oneIssuer);

/** One control plane as a text, or a list of several. With a list, events and headers name the control plane. */
export const issuers: Kind<string | readonly string[]> = {
  check(value, path, report) {
    if (!Array.isArray(value)) return oneIssuer.check(value, path, report);
    if (value.length < 1 || value.length > MAX_ISSUERS) {
      return report(path, `${nameOf(path)} must be one text, or a list of 1 to ${MAX_ISSUERS}`);
    }
    severalIssuers.check(value, path, report);
    for (const at of repeatedIssuers(value)) report([...path, at], `${nameOf([...path, at])} ${REPEATED}`);
  },
  schema: {
    anyOf: [oneIssuer.schema, { ...severalIssuers.schema, minItems: 1, maxItems: MAX_ISSUERS, uniqueItems: true }],
  },
  read: (written) => written as string | readonly string[],
};

export const count = (least: number, most: number) =>
  single<number>(wholeNumber(least, most), { type: 'integer', minimum: least, maximum: most });

export const choice = <Word extends string>(words: readonly Word[]) => single<Word>(oneOf(words), { enum: words });

const MAX_PORT = 65_535;
export const port = count(1, MAX_PORT);

/** A text from which a value is read. @param accepted follows the word "must" */
function parsed<Value>(
  accepted: string,
  read: (text: string) => Value | undefined,
  rules: JsonObject = {},
): Kind<Value> {
  const check = must(accepted, (value) => typeof value === 'string' && read(value) !== undefined);
  return mapped(textOf(check, rules), (written) => checked(read(written)));
}

/** @throws Error for a text that the check would have refused */
function checked<Read>(read: Read | undefined): Read {
  if (read === undefined) throw new Error('The guard read a file with a fault.');
  return read;
}

export const address = parsed(
  'be a host and a port, as in 127.0.0.1:8099 or "[::1]:8099"',
  (text): ListenAddress | undefined => {
    const [, host = '', digits] = /^(\[[0-9a-f:.]+\]|[\w.-]+):(\d{1,5})$/i.exec(text) ?? [];
    const number = Number(digits);
    return number >= 1 && number <= MAX_PORT ? { host: host.replaceAll(/[[\]]/g, ''), port: number } : undefined;
  },
);

export const origin = parsed(
  'be an https URL, or http on loopback, without a path, as in http://127.0.0.1:3000',
  (text) => {
    if (audienceProblem(text) !== undefined || text.endsWith('?')) return undefined;
    const { protocol, hostname, pathname, search, origin } = new URL(text);
    return (protocol === 'https:' || isLoopback(hostname)) && pathname === '/' && search === '' ? origin : undefined;
  },
  URI,
);

/** A host in ASCII without `*`, which a URL may have. */
const ORIGIN = '^https?://(?:[a-z0-9_.-]+|\\[[0-9a-f:.]+\\])(?::[1-9]\\d{0,4})?$';

export const browserOrigin = parsed(
  'be an origin as browsers send it: http or https, a host in lower-case ASCII, and a port only if it is not the default, as in https://app.example',
  (text) => {
    return new RegExp(ORIGIN).test(text) && URL.canParse(text) && new URL(text).origin === text ? text : undefined;
  },
  { pattern: ORIGIN },
);

export const exactPath = parsed(
  'be a path that servers do not rewrite, without *, as in /mcp',
  (text) => (isPlainPath(text) && !text.includes('*') ? text : undefined),
  { pattern: "^/[\\w.~!$&'()+,;=:@/%-]*$" },
);

export const signedInHeader = parsed(
  'be a header in which a proxy tells who has signed in, as Remote-User',
  (text) => (/^[a-z0-9_-]+$/i.test(text) && tellsWhoSignedIn(text.toLowerCase()) ? text.toLowerCase() : undefined),
  { pattern: '^[A-Za-z0-9_-]+$' },
);

const argumentPath = parsed('be a path to one value, as $.amount or $.items[0]', readArgumentPath, {
  pattern: `^\\$(?:\\.[A-Za-z_]\\w*|\\[(?:0|[1-9]\\d{0,8})\\]|\\['[^'\\\\]+'\\]|\\["[^"\\\\]+"\\])*$`,
});

const pattern = mapped(
  textOf(textWithout(routeMatchProblem), {
    pattern: "^[A-Z]+(?:-[A-Z]+)* /(?:[\\w.~!$&'()+,;=:@/%-]*|(?:[\\w.~!$&'()+,;=:@/%-]*/)?\\*)$",
  }),
  (written) => checked(readRouteMatch(written)),
);

const yesOrNo = single<boolean>(flag, { type: 'boolean' });

const policy: Kinds<RoutePolicy> = {
  scope: single<Scope>(scopes, {
    type: 'array',
    minItems: 1,
    items: { type: 'string', pattern: '^[!#-\\[\\]-~]+$' },
  }),
  highRisk: optionally(yesOrNo),
  requireActor: optionally(yesOrNo),
  maxDelegationDepth: optionally(single<number>(depth, { type: 'integer', minimum: 1 })),
};

/** A text that a person reads: not blank, without control characters and line breaks. */
const LINE = '^(?=.*\\S)[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$';

/** A JSON Schema 2020-12 of the body, or of the arguments of a tool. */
const jsonSchema: Kind<Json> = {
  check(value, path, report) {
    for (const fault of schemaFaults(value ?? null)) {
      const whole = [...path, ...fault.path];
      report(whole, `${nameOf(whole)} ${fault.problem}`);
    }
  },
  schema: { type: ['object', 'boolean'] },
  read: (written) => written as Json,
};

/** @param most how many lines the file may have */
const approval = (most: number) =>
  section<Approval>({
    title: textOf(titleCheck, { maxLength: MAX_TITLE, pattern: LINE }),
    lines: optionally(
      mapped(labelled(most), (lines) => Object.entries(lines).map(([label, path]) => ({ label, path }))),
      {},
    ),
    unless: optionally(jsonSchema),
  });

/** Paths by their labels, which a person reads. */
function labelled(most: number): Kind<Readonly<Record<string, ArgumentPath>>> {
  const paths = named(argumentPath, { maxProperties: most, propertyNames: { maxLength: MAX_LABEL, pattern: LINE } });
  return {
    ...paths,
    check(value, path, report) {
      paths.check(value, path, report);
      const labels = isJsonObject(value) ? Object.keys(value) : [];
      if (labels.length > most) report(path, `${nameOf(path)} must have at most ${most} members`);
      if (labels.some((label) => labelCheck(label, '').length > 0)) {
        for (const clause of labelCheck(undefined, `each name in ${nameOf(path)}`)) report(path, clause);
      }
    },
  };
}

const toolApproval = approval(MAX_LINES);
/** The guard adds the first line. */
const routeApproval = approval(MAX_LINES - 1);
const fewer = { properties: { lines: { maxProperties: MAX_LINES - 1 } } };

export const match = defined('match', pattern);
export const policyOfMethod = section<RoutePolicy>(policy);
export const policyOfTool = section<GuardPolicy>({
  ...policy,
  approval: optionally(defined('approval', toolApproval)),
  arguments: optionally(jsonSchema),
});
export const policyOfRoute = section<GuardRoute>({
  match,
  ...policy,
  approval: optionally(defined('approval', routeApproval, fewer)),
  arguments: optionally(jsonSchema),
});

/** What the JSON Schema has once, and refers to. */
export const DEFINITIONS = {
  match: pattern,
  policy: policyOfMethod,
  tool: policyOfTool,
  route: policyOfRoute,
  approval: toolApproval,
};

/** @param rules what the JSON Schema says here besides */
export function defined<Value>(name: string, kind: Kind<Value>, rules: JsonObject = {}): Kind<Value> {
  return { ...kind, schema: { $ref: `#/$defs/${name}`, ...rules } };
}
