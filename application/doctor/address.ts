/** Examines addresses: the service's public address, its sink, and the addresses from which agents' keys are fetched. */

import type { Problem, Reach } from '../ports/network.ts';
import { type Examination, type Finding, failed, ok, skipped, warning } from './examine.ts';
import { describeProblem } from './problem.ts';

/** The response from `Service:Issuer`. */
export interface OwnAnswer {
  readonly issuer: string;
  /** The kids of configured keys that are not published, and of published keys that are not configured. */
  readonly missing: readonly string[];
  readonly surplus: readonly string[];
}

export interface OwnAddress {
  readonly issuer: string;
  readonly ask: () => Promise<OwnAnswer | Problem>;
}

/**
 * The finding is never `failed`, only a warning. Before its first start the service cannot answer, and some networks do
 * not route a host's public address back to it.
 */
export function ownAddressExamination(own: OwnAddress): Examination {
  return { check: 'own address', examine: () => examineOwnAddress(own) };
}

/** Whether the provider could read the signing keys of these settings, as far as this machine sees. */
export async function publishesConfiguredKeys({ issuer, ask }: OwnAddress): Promise<boolean> {
  const answer = await ask();
  return !('problem' in answer) && answer.issuer === issuer && answer.missing.length === 0;
}

async function examineOwnAddress({ issuer, ask }: OwnAddress): Promise<Finding> {
  const answer = await ask();
  if ('problem' in answer) {
    const { sentence, remedy } = describeProblem(answer);
    return warning(
      `Service:Issuer could not be asked for its metadata. ${sentence}`,
      remedy ?? 'Once the service runs, see that agents, tool servers and the identity provider reach it there.',
    );
  }
  if (answer.issuer !== issuer) {
    return warning('What answers at Service:Issuer says that it is another issuer.', 'See what the address leads to.');
  }
  const { missing, surplus } = answer;
  if (missing.some((kid) => surplus.includes(kid))) {
    return warning(
      'What answers at Service:Issuer publishes another key under the name of a configured one.',
      'See what the address leads to: tool servers and auditors believe the keys that are published there.',
    );
  }
  if (missing.length > 0) {
    return warning(
      'What answers at Service:Issuer does not publish every key that is configured here.',
      'Restart the replicas that still have old settings, or give this command the settings of the replicas; see `mandate keys rotate`.',
    );
  }
  if (surplus.length > 0) {
    return warning(
      'What answers at Service:Issuer publishes a key that is not configured here.',
      'See whether it is a former key of this service: tool servers accept what it signs. If so, restart the replicas that still have old settings, or give this command the settings of the replicas; see `mandate keys rotate`.',
    );
  }
  return ok('Service:Issuer answers with its own metadata and keys.');
}

/** A file of the console at `Service:Console:Origin`. Its path changes with its content. */
interface ConsoleAddress {
  readonly url: string;
  readonly content: string;
  /** Resolves with the body of the answer, or with the problem. */
  readonly ask: (url: string) => Promise<string | Problem>;
}

/** Never `failed`, as for the service's own address: some networks let only browsers of operators reach it. */
export async function examineConsoleAddress({ url, content, ask }: ConsoleAddress): Promise<Finding> {
  const answer = await ask(url);
  if (answer === content) return ok('Service:Console:Origin answers with the console of this release.');
  if (typeof answer === 'string') {
    return warning('What answers at Service:Console:Origin is not the console.', 'See what the address leads to.');
  }
  const { sentence, remedy } = describeProblem(answer);
  return warning(
    `Service:Console:Origin did not answer with the console of this release. ${sentence}`,
    remedy ??
      'Once the service runs, see that the proxy passes this host on to Service:Console:Port of each replica, at its root.',
  );
}

/** @param url `Service:Audit:Sink:Url` @param limitMs the time limit for connecting */
export function sinkExamination(url: string | undefined, reach: Reach, limitMs: number): Examination {
  return {
    check: 'sink',
    async examine() {
      if (url === undefined) return skipped('Service:Audit:Sink:Url is not set: no copy is sent anywhere.');
      const problem = await reach(url, limitMs);
      if (problem === undefined) return ok('A connection to the sink was made; nothing was sent.');
      return failed(
        `The sink cannot be connected to. ${problem}`,
        'See that it runs and is reachable from here. Until then, records wait for it; decisions do not.',
      );
    },
  };
}

/** @param blockPrivateNetworks `Service:AgentKeys:BlockPrivateNetworks` */
export function agentKeysExamination(blockPrivateNetworks: boolean): Examination {
  return {
    check: 'agent keys',
    examine: async () =>
      blockPrivateNetworks
        ? ok('Each jwks_uri is fetched from public addresses only.')
        : warning(
            'A jwks_uri may lead to loopback, private, link-local and cloud metadata addresses.',
            'Set Service:AgentKeys:BlockPrivateNetworks to true, or keep the service from such addresses with a firewall.',
          ),
  };
}
