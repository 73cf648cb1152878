/** A service with a transparency log, and the keys that seal its ledger. */

import { randomUUID } from 'node:crypto';
import type { FreshDatabase, TestDatabase } from '../../support/databases.ts';
import { makeSealingKey, type SealingKey } from '../../support/ledger/sealing-key.ts';
import { type Answer, type Mandate, startMandate } from '../../support/mandate.ts';
import { logKeySettings, readNote, sha256 } from '../../support/transparency-log.ts';

export const ORIGIN = 'mandate.test/ledger';

export interface PublishedKey {
  readonly kid: string;
  readonly use: 'checkpoint' | 'log';
  readonly vkey?: string;
  readonly jwk?: Readonly<Record<string, string>>;
  readonly from: string;
  readonly to: string | null;
}

export const keysIn = ({ body }: Answer) => body.keys as readonly PublishedKey[];

export const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** RFC 7638 §3.2, RFC 8037 §2: the thumbprint of a key of the log. */
export function thumbprintOf(key: PublishedKey | undefined): string {
  const typed = Buffer.from(key?.vkey?.split('+').slice(2).join('+') ?? '', 'base64');
  const x = typed.subarray(1).toString('base64url');
  return sha256(Buffer.from(`{"crv":"Ed25519","kty":"OKP","x":"${x}"}`)).toString('base64url');
}

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function logOn(database: TestDatabase) {
  const logKey = logKeySettings();
  let signing: Readonly<Record<string, string>>;
  let on: Readonly<Record<string, string>>;

  /** All are configured everywhere, as in a rotation: an instance does not seal over checkpoints of an unknown key. */
  let signingKeys: readonly SealingKey[];

  let mandate: Mandate;
  let fresh: FreshDatabase;

  before(async () => {
    fresh = await database.fresh();
    signingKeys = await Promise.all(Array.from({ length: 4 }, () => makeSealingKey()));
    const pems = signingKeys.map(({ pem }, nth) => [`Service:Signing:Keys:${nth}:Pem`, pem]);
    signing = { ...Object.fromEntries(pems), ...active(0) };
    on = { ...signing, ...logKey, 'Service:Audit:Log:Public': 'true' };
    mandate = await startMandate({ database: { ...database, fresh: async () => fresh }, settings: on });
  });

  after(() => mandate.stop());
  const active = (nth: number) => ({ 'Service:Signing:ActiveKid': signingKeys[nth]?.signer.kid ?? '' });

  /** Seals one record, this many times, and lets the log grow. */
  async function seal(count: number): Promise<void> {
    for (let nth = 0; nth < count; nth += 1) {
      await mandate.block(`person-${randomUUID()}`, 'disabled');
      await mandate.jobs.seal();
    }
    await mandate.jobs.growLog();
    // An instance reads the state at most once a second.
    mandate.clock.advance(1);
  }

  const vkey = async () =>
    keysIn(await mandate.get('/log/keys')).find(({ use, to }) => use === 'log' && to === null)?.vkey ?? '';

  const noteNow = async () => readNote((await mandate.get('/log/checkpoint')).text, await vkey());

  /** The elements of `GET /audit/checkpoints`, as its answers print them. */
  async function checkpointTexts(): Promise<readonly string[]> {
    const texts: string[] = [];
    for (let after = 0, more = true; more; after = texts.length) {
      const { text, body } = await mandate.admin('GET', `/audit/checkpoints?limit=1000&after=${after}`);
      texts.push(...(text.slice(text.indexOf('[') + 1, text.lastIndexOf(']')).match(/\{[^}]*\}/g) ?? []));
      more = body.next_after !== null;
    }
    return texts;
  }

  return {
    get signing() {
      return signing;
    },
    get on() {
      return on;
    },
    get signingKeys() {
      return signingKeys;
    },
    get mandate() {
      return mandate;
    },
    get fresh() {
      return fresh;
    },
    logKey,
    active,
    seal,
    vkey,
    noteNow,
    checkpointTexts,
  };
}

export type Log = ReturnType<typeof logOn>;
