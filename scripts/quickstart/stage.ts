/** What the story is played on: a real identity provider, and Mandate on SQLite in a child process, in a folder of its own. */

import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type IdentityProvider,
  startIdentityProvider,
} from '../../test/support/identity-provider/identity-provider.ts';
import { builtProgram, startMandate } from '../mandate-process.ts';

export interface Stage {
  readonly provider: IdentityProvider;
  readonly issuer: string;
  readonly adminKey: string;
  /** Where the admin key stands, readable by the owner only. */
  readonly adminKeyFile: string;
  readonly logFile: string;
  /** Mandate's database. */
  readonly databaseFile: string;
  /** A copy of it that may be tampered with; not there at first. */
  readonly tamperedFile: string;
  /** What Node is given to run `mandate`. */
  readonly program: readonly string[];
  /** Resolves when Mandate is no longer running. */
  readonly ended: Promise<void>;
  /** Stops everything and removes the folder. */
  clear(): Promise<void>;
}

/** @param program as `startMandate` takes it */
export async function setStage(program: readonly string[] = builtProgram): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'mandate-quickstart-'));
  const provider = await startIdentityProvider();
  const clear = async () => {
    await provider.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const adminKey = randomBytes(32).toString('base64url');
    const adminKeyFile = join(folder, 'admin-key');
    writeFileSync(adminKeyFile, adminKey, { mode: 0o600 });
    const databaseFile = join(folder, 'mandate.db');
    const mandate = await startMandate(
      {
        NODE_ENV: 'development',
        Service__UpstreamIdp__Issuer: provider.issuer,
        Service__UpstreamIdp__Audience: provider.audience,
        Service__UpstreamIdp__SponsorCheck__Mode: 'signals',
        Service__Database__Provider: 'sqlite',
        Service__Database__Path: databaseFile,
        // The shortest there is: the story waits for a seal.
        Service__Audit__Checkpoint__Interval: 'PT1S',
        Service__Admin__ApiKey: adminKey,
      },
      folder,
      program,
    );
    return {
      provider,
      issuer: mandate.issuer,
      adminKey,
      adminKeyFile,
      logFile: mandate.logFile,
      databaseFile,
      tamperedFile: join(folder, 'tampered.db'),
      program,
      ended: mandate.ended,
      async clear() {
        await mandate.stop();
        await clear();
      },
    };
  } catch (error) {
    await clear();
    throw error;
  }
}
