/**
 * Reads a status list token (draft-ietf-oauth-status-list-20 §5.1, §8.3). A list that fails one check is not used: its
 * bytes decide who is let in.
 */

import { promisify } from 'node:util';
import { inflate } from 'node:zlib';
import { STATUS_BITS, STATUS_LIST_TYPE, statusListEntries } from '../../../../domain/tasks/status-list.ts';
import { decodeCanonical } from '../../../../domain/tokens/canonical-base64url.ts';
import { readCompactJws } from '../../../../domain/tokens/compact-jws.ts';
import { isJsonObject, type JsonObject, member, textMember } from '../../../../domain/tokens/strict-json.ts';
import type { ControlPlaneKeys } from './control-plane-keys.ts';
import { signatureFault } from './signature-fault.ts';

export interface StatusList {
  /** The packed statuses. */
  readonly bytes: Uint8Array;
  /** Seconds since 1970. */
  readonly iat: number;
  readonly exp: number;
  /** The control plane makes the next list after this many seconds. */
  readonly ttl: number;
}

type ReadList =
  | { readonly kind: 'list'; readonly list: StatusList }
  /** `problem` is a fixed sentence. */
  | { readonly kind: 'refused'; readonly problem: string };

const PER_BYTE = 8 / STATUS_BITS;

const inflated = promisify<Buffer | Uint8Array, { maxOutputLength: number }, Buffer>(inflate);

/** @param expected `uri` of the list; `now` in seconds since 1970, rounded down */
export async function readStatusList(
  keys: ControlPlaneKeys,
  text: string,
  expected: { readonly uri: string; readonly clockSkewSeconds: number; readonly now: number },
): Promise<ReadList> {
  const { uri, clockSkewSeconds: skew, now } = expected;
  const jws = readCompactJws(text);
  if (jws === undefined) return refused('It is not a well-formed JWS.');
  const fault = await signatureFault(keys, jws, STATUS_LIST_TYPE);
  if (fault !== undefined) return refused(`Its signature is not accepted: ${fault.reason}.`);

  const { subject, issuedAt: iat, expiry: exp, notBefore = now, json } = jws.claims;
  if (subject !== uri) return refused('Its sub is not the URI of the list.');
  if (iat === undefined || exp === undefined) return refused('It has no iat or no exp.');
  if (exp + skew <= now) return refused('It has expired.');
  // If the control plane's clock is corrected, such a list would make all later ones look like replays.
  if (iat > now + skew) return refused('Its iat is in the future.');
  // The control plane writes none.
  if (notBefore > now + skew) return refused('Its nbf is in the future.');

  const list = member(json, 'status_list');
  const bytes = isJsonObject(list) ? await unpack(list) : 'It has no status_list.';
  if (typeof bytes === 'string') return refused(bytes);
  const ttl = member(json, 'ttl');
  return { kind: 'list', list: { bytes, iat, exp, ttl: typeof ttl === 'number' ? ttl : exp - iat } };
}

/** The bytes of the list, or the problem. */
async function unpack(list: JsonObject): Promise<Uint8Array | string> {
  if (member(list, 'bits') !== STATUS_BITS) return `Its bits are not ${STATUS_BITS}.`;
  const compressed = decodeCanonical(textMember(list, 'lst') ?? '');
  if (compressed === undefined) return 'Its lst is not base64url.';
  let bytes: Uint8Array;
  try {
    bytes = await inflated(compressed, { maxOutputLength: statusListEntries.max / PER_BYTE });
  } catch {
    return 'Its lst cannot be inflated, or is too long.';
  }
  // The control plane makes only such sizes, so a list that lost one byte is noticed.
  const entries = bytes.length * PER_BYTE;
  const isPowerOfTwo = Number.isInteger(Math.log2(entries));
  return isPowerOfTwo && entries >= statusListEntries.min
    ? bytes
    : 'Its number of entries is not a power of two in range.';
}

function refused(problem: string): ReadList {
  return { kind: 'refused', problem };
}
