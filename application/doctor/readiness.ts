/**
 * Examines `/readyz` of the service at `Service:Issuer`: some faults only a running process can notice, because it
 * remembers. Every check there that is not `Healthy` is reported, so a new check needs nothing here.
 */

import type { ReadinessStatus } from '../ports/runtime.ts';
import { DECISIONS_FAIL, SEE_USED_TWICE } from '../ports/storage.ts';
import { type Examination, type Finding, failed, ok, skipped, warning } from './examine.ts';

export interface ReadinessReport {
  readonly name: string;
  readonly status: ReadinessStatus;
  readonly detail: string;
}

/** @param ask resolves with `undefined` if nothing at `Service:Issuer` answers with such a report */
export function readinessExamination(ask: () => Promise<readonly ReadinessReport[] | undefined>): Examination {
  return { check: 'readiness', examine: async () => judgeReadiness(await ask()) };
}

/** In the check `database`: no decision succeeds, also if only the disk is full. */
const cannotDecide = ({ detail }: ReadinessReport): boolean => detail.startsWith(DECISIONS_FAIL);

/** A service that is only `Degraded` by these decides on, but its ledger cannot be trusted. */
const OF_THE_LEDGER: readonly string[] = ['sealing'];

function judgeReadiness(reports: readonly ReadinessReport[] | undefined): Finding {
  if (reports === undefined) return skipped('There was no report of /readyz at Service:Issuer.');
  const faulty = reports.filter(({ status }) => status !== 'Healthy');
  if (faulty.length === 0) return ok('The service at Service:Issuer is ready, by each check of its /readyz.');
  const sentence = faulty.map(({ name, status, detail }) => `${name} is ${status}: ${endSentence(detail)}`).join(' ');
  const isFailed = faulty.some(
    (report) => report.status === 'Unhealthy' || OF_THE_LEDGER.includes(report.name) || cannotDecide(report),
  );
  const ofTheLedger = faulty.filter(({ name }) => OF_THE_LEDGER.includes(name));
  const remedy = ofTheLedger.some(({ detail }) => !detail.endsWith(SEE_USED_TWICE))
    ? 'Do not restart before you have compared the ledger with what was kept: a restart forgets. See docs/operating.md ("Sealing stopped").'
    : 'See the log of the replica that answered, and docs/operating.md.';
  return isFailed ? failed(sentence, remedy) : warning(sentence, remedy);
}

function endSentence(detail: string): string {
  return /[.!?]$/.test(detail) ? detail : `${detail}.`;
}
