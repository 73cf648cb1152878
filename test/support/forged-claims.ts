/** The claims of a task token as an attacker with the signing key would change them: each claim in at least five forms. */

import type { JsonObject } from '../../domain/tokens/strict-json.ts';

type Forms = readonly JsonObject[];

/** @param claims of a genuine token, with a status */
export function forgedClaims(claims: JsonObject): readonly (readonly [claim: string, forms: Forms])[] {
  const { act, task, status } = claims as Readonly<Record<string, JsonObject>>;
  const list = status?.status_list as JsonObject | undefined;
  const exp = Number(task?.exp);
  const sub = String(claims.sub);
  const scope = String(claims.scope);
  const values: Readonly<Record<string, readonly unknown[]>> = {
    sub: ['ceo', `${sub} `, sub.toUpperCase(), '', [sub], { sub }, null, undefined],
    aud: [
      'https://bank.example',
      `${claims.aud}/`,
      [claims.aud],
      [claims.aud, 'https://bank.example'],
      '',
      null,
      undefined,
    ],
    client_id: [
      'agent:another',
      String(claims.client_id).slice('agent:'.length),
      `${claims.client_id} `,
      '',
      undefined,
    ],
    scope: [
      `${scope} payments:write`,
      'jira:admin',
      `${scope} `,
      scope.replace(' ', '  '),
      `jira:read jira:read`,
      scope.toUpperCase(),
      '',
      scope.split(' '),
      null,
      undefined,
    ],
    exp: [exp + 1, exp + 3600, exp + 315_360_000, Number.MAX_SAFE_INTEGER, undefined],
    iat: [undefined, null, '1', 1.5, true],
    act: [
      { ...act, sub: 'agent:another' },
      { ...act, sub: undefined },
      { ...act, depth: 2 },
      { ...act, depth: 0 },
      { ...act, depth: '1' },
      { ...act, depth: undefined },
      { ...act, act: { sub: 'agent:another', depth: 1 } },
      { ...act, roles: ['admin'] },
      { ...act, instance: '' },
      { ...act, instance: ' ' },
      { ...act, instance: 'i'.repeat(129) },
      { ...act, instance: 7 },
      { ...act, instance: null },
      [act],
      act?.sub,
      null,
      undefined,
    ],
    task: [
      { ...task, sponsor: 'ceo' },
      { ...task, exp: exp + 1 },
      { ...task, exp: exp - 1 },
      { ...task, exp: String(exp) },
      { ...task, exp: undefined },
      { ...task, sponsor: undefined },
      { ...task, purpose: 'anything' },
    ],
    introspect_required: [false, 'true', 1, null, []],
    status: [
      { status_list: { ...list, idx: Number(list?.idx) + 1 } },
      { status_list: { ...list, uri: `${list?.uri}A` } },
      { status_list: { ...list, exp: 1 } },
      { ...status, other: 1 },
      {},
      null,
      'valid',
    ],
    sid: ['session-3', '', null, 7, {}],
    cnf: [{ jkt: 'x' }, {}, null, '', true],
    email: ['ceo@example.com', '', null, [], 1],
  };
  return Object.entries(values).map(
    ([claim, forms]) =>
      [
        claim,
        forms
          .filter((value) => value !== undefined || claim in claims)
          .map((value) => JSON.parse(JSON.stringify({ ...claims, [claim]: value })) as JsonObject),
      ] as const,
  );
}
