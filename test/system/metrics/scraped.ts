/** A service with metrics. */

import { freePort } from '../../../scripts/free-port.ts';
import type { TestDatabase } from '../../support/databases.ts';
import { type Mandate, startMandate } from '../../support/mandate.ts';
import { type Scrape, scrape } from '../../support/metrics-scrape.ts';

export const METRICS_PORT = 'Service:Metrics:Port';

/** The growth of each counter between two scrapes. */
export function grown(before: Scrape, after: Scrape, name: string): Readonly<Record<string, number>> {
  const entries = [...after.values].flatMap(([key, value]) => {
    const growth = value - (before.values.get(key) ?? 0);
    return key.startsWith(`${name}{`) && growth !== 0 ? [[key.slice(name.length), growth] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Starts it before the tests of the surrounding suite, and stops it after them. */
export function scrapedService(database: TestDatabase) {
  let port: number;
  let mandate: Mandate;

  before(async () => {
    port = await freePort();
    mandate = await startMandate({ database, settings: { [METRICS_PORT]: String(port) } });
    // With a stopped clock, no summary of denials is recorded between two scrapes.
    mandate.clock.standStill();
  });

  after(() => mandate.stop());

  /** Moves the clock and scrapes, because the service queries the database at most once in five seconds. */
  const look = () => {
    mandate.clock.advance(6);
    return scrape(port);
  };

  return {
    get port() {
      return port;
    },
    get mandate() {
      return mandate;
    },
    look,
  };
}

export type Scraped = ReturnType<typeof scrapedService>;
