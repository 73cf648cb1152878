/**
 * The control planes of a tool server. `iss` chooses one for each token, once. The decision uses the keys, status lists,
 * introspection and approvals of this one. Each has its own caches, and no control plane is asked about a token of another.
 */

import { type Approvals, approvals } from './approvals.ts';
import { type ControlPlane, controlPlane } from './control-plane.ts';
import { type ControlPlaneKeys, controlPlaneKeys } from './control-plane-keys.ts';
import type { CheckedIssuer, CheckedIssuers, CheckedOptions, StatusListOptions } from './options.ts';
import { type StatusLists, statusLists } from './status-lists.ts';

export interface Issuer {
  /** The `iss` of its tokens, and the base of its endpoints. */
  readonly issuer: string;
  readonly plane: ControlPlane;
  readonly keys: ControlPlaneKeys;
  /** `undefined` without the option `statusList`. */
  readonly listing: Listing | undefined;
  /** `undefined` without the option `approvalKey`. */
  readonly approvals: Approvals | undefined;
}

/** The status lists, and the options that they are read with. */
interface Listing extends Required<StatusListOptions> {
  readonly lists: StatusLists;
}

export interface Issuers extends Pick<CheckedIssuers, 'areNamed'> {
  readonly all: readonly Issuer[];
  /**
   * The control plane that is asked about a token. With the option `issuers` it is the one that `iss` names; none is asked about a
   * token that names no entry. With the option `issuer` it is always that one, and claims.ts compares `iss`.
   */
  choose(iss: string | undefined): Issuer | undefined;
}

interface Shared {
  readonly options: Pick<CheckedOptions, 'audience' | 'clockSkewSeconds' | 'timeoutMs' | 'startSpan' | 'now'>;
  readonly report: (error: unknown) => void;
}

/** @param earlier those before a reload of the guard: one that stays keeps its keys, and lists of the same age */
export function issuersOf({ issuers, areNamed }: CheckedIssuers, shared: Shared, earlier?: Issuers): Issuers {
  const all = issuers.map((given) =>
    issuerOf(
      given,
      shared,
      earlier?.all.find(({ issuer }) => issuer === given.issuer),
    ),
  );
  const byName = new Map<string | undefined, Issuer>(all.map((one) => [one.issuer, one]));
  return { all, areNamed, choose: areNamed ? (iss) => byName.get(iss) : () => all[0] };
}

function issuerOf(
  { issuer, fetch, statusList, approvalKey: key }: CheckedIssuer,
  { options: common, report }: Shared,
  earlier: Issuer | undefined,
): Issuer {
  const options = { ...common, issuer, fetch };
  const plane = earlier?.plane ?? controlPlane(options);
  const keys = earlier?.keys ?? controlPlaneKeys(plane, options.now);
  const listing = (given: Required<StatusListOptions>): Listing => {
    const before = earlier?.listing;
    if (before?.maxAgeMs === given.maxAgeMs) return { ...before, ...given };
    return { ...given, lists: statusLists({ plane, keys, options, maxAgeMs: given.maxAgeMs, report }) };
  };
  return {
    issuer,
    plane,
    keys,
    listing: statusList && listing(statusList),
    approvals: key && approvals({ key, plane, options, report }),
  };
}
