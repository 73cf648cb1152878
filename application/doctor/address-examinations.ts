/** Whether others reach this service where it says it is, and whether it reaches its sink. */

import type { Reach } from '../ports/reach.ts';
import { type Examination, type Finding, failed, ok, skipped, warning } from './finding.ts';
import type { Problem } from './problem.ts';
import { describeProblem } from './problem.ts';

/** What its own address answered. */
export type OwnAnswer =
  | { readonly kind: 'answered'; readonly issuer: string | undefined; readonly kids: readonly string[] }
  | { readonly kind: 'failed'; readonly problem: Problem };

export interface OwnAddress {
  readonly issuer: string;
  readonly ask: () => Promise<OwnAnswer>;
  /** The names of the configured keys; `undefined` while they cannot be loaded. */
  readonly kids: () => Promise<readonly string[] | undefined>;
}

/** Never more than a warning: before the first start nobody can be there, and not every network leads back to itself. */
export function ownAddressExamination(own: OwnAddress): Examination {
  return { check: 'own address', examine: () => examineOwnAddress(own) };
}

async function examineOwnAddress({ issuer, ask, kids }: OwnAddress): Promise<Finding> {
  const answer = await ask();
  if (answer.kind === 'failed') {
    const { sentence, remedy } = describeProblem(answer.problem);
    return warning(
      `Service:Issuer could not be asked for its metadata. ${sentence}`,
      remedy ?? 'Once the service runs, see that agents, tool servers and the identity provider reach it there.',
    );
  }
  if (answer.issuer !== issuer) {
    return warning('What answers at Service:Issuer says that it is another issuer.', 'See what the address leads to.');
  }
  const configured = (await kids()) ?? [];
  if (configured.some((kid) => !answer.kids.includes(kid))) {
    return warning(
      'What answers at Service:Issuer does not publish every key that is configured here.',
      'Restart what is left of a roll-out, or give this command the settings of the replicas; see `mandate keys rotate`.',
    );
  }
  return ok('Service:Issuer answers with its own metadata and keys.');
}

export function sinkExamination(url: string | undefined, reach: Reach, limitMs: number): Examination {
  return {
    check: 'sink',
    async examine() {
      if (url === undefined) return skipped('Service:Audit:Sink:Url is not set: no copy is sent anywhere.');
      const problem = await reach(url, limitMs);
      if (problem === undefined) return ok('A connection to the sink was made; nothing was sent.');
      return failed(
        `The sink cannot be connected to. ${problem}`,
        'See that it runs and is reached from here. Records wait for it meanwhile, and no decision does.',
      );
    },
  };
}
