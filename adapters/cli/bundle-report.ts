/** The reports about an evidence bundle: that of `audit-verify --bundle`, and what `audit-bundle` says it wrote. */

import type { BelievedKey } from '../../domain/log/bundle-log.ts';
import { type BundleVerdict, CONSISTENT } from '../../domain/log/bundle-verdict.ts';
import { visibleJson, visibleText } from '../../domain/visible.ts';
import { counted } from './command.ts';
import { describeHop } from './hop-line.ts';
import { describeQuestion } from './question-line.ts';

export type Verified = BundleVerdict & { readonly verified: true };

/** Renders sentences for a person, or one JSON object for a program. The text ends with a line feed. */
export function renderBundleReport(verdict: BundleVerdict, hasPolicy: boolean, json: boolean): string {
  if (json) return `${visibleJson(JSON.stringify(asJson(verdict, hasPolicy)))}\n`;
  const text = verdict.verified
    ? [
        ...verified(verdict, hasPolicy),
        ...hopLines(verdict),
        ...questionLines(verdict),
        ...keyLines(verdict, hasPolicy),
      ]
    : [
        verdict.fault === 'policy'
          ? 'The bundle agrees with itself, but does not meet the policy.'
          : 'The bundle is not intact.',
        verdict.message,
      ];
  // Anybody can write a bundle. A name in it must not add a line to the report, or change how the terminal shows one.
  return `${text.map(visibleText).join('\n')}\n`;
}

/** What a bundle that was just written has, as lines. @param name of its file */
export function writtenLines(verdict: Verified, name: string | undefined): readonly string[] {
  const verify = `mandate audit-verify --bundle ${name ?? 'FILE'} --policy FILE`;
  return [
    `Wrote ${name ?? 'the bundle to standard output'}: ${contentsOf(verdict)}`,
    ...taskLines(verdict),
    logLine(verdict),
    `It has personal data. It is verified offline with ${verify}.`,
  ].map(visibleText);
}

function contentsOf({ completeness, checkpoints, selection }: Verified): string {
  const asked = Object.entries(selection).map(([name, value]) => (name === 'tree' ? 'its tree' : `${name} ${value}`));
  return `${counted(completeness.records, 'record')} in ${counted(checkpoints, 'checkpoint')} (${asked.join(', ')}).`;
}

function taskLines({ completeness: { started, ended }, selection }: Verified): readonly string[] {
  if (selection.task_id === undefined) return [];
  return [
    started !== null && ended !== null
      ? `It has the start of the task (record ${started}) and its end (record ${ended}).`
      : `It does not have the ${started === null ? 'start' : 'end'} of the task.`,
  ];
}

function logLine({ log, keys }: Verified): string {
  if (log === undefined) return 'It has no transparency log: the keys of the checkpoints alone vouch for it.';
  const witnesses = keys.filter(({ use }) => use === 'witness').length;
  return `Its checkpoints are in the log ${log.origin}, of size ${log.size}, with ${counted(witnesses, 'cosignature')}.`;
}

function verified(verdict: Verified, hasPolicy: boolean): readonly string[] {
  const { started, ended, not_sealed, not_logged, archived_before } = verdict.completeness;
  const lacking = not_sealed + not_logged;
  const whole = started !== null && ended !== null;
  return [
    `${hasPolicy ? 'The bundle is intact' : CONSISTENT}: ${contentsOf(verdict)}`,
    ...taskLines(verdict),
    'That no record between them is missing is the word of whoever made the bundle: only the ledger proves it.',
    ...(lacking > 0 && !whole ? [`When it was made, ${counted(lacking, 'record')} could not be proved yet.`] : []),
    ...(archived_before === null ? [] : [`When it was made, records before ${archived_before} had been archived.`]),
    logLine(verdict),
  ];
}

function hopLines({ hops, furtherHops }: Verified): readonly string[] {
  if (hops.length === 0) return [];
  const more = furtherHops === 0 ? [] : [`  and ${counted(furtherHops, 'more hand-over')}`];
  return ['Which agent handed work to which (UTC):', ...hops.map((hop) => `  ${describeHop(hop)}`), ...more];
}

/** Each quotes its words, so that no word of a tool server looks like another part of the line. */
function questionLines({ questions, further }: Verified): readonly string[] {
  if (questions.length === 0) return [];
  const more = further === 0 ? [] : [`  and ${counted(further, 'more question')}`];
  const asked = questions.map((question) => `  ${describeQuestion(question)}`);
  return ['What people were asked, in the words of the tool servers (UTC):', ...asked, ...more];
}

function keyLines({ keys }: Verified, hasPolicy: boolean): readonly string[] {
  return [
    hasPolicy
      ? 'It meets the policy. These keys verified it:'
      : 'Without a policy anybody could have made it with keys of their own. Compare the keys that verified it by hand:',
    ...keys.map(keyLine),
  ];
}

const USES = { checkpoint: 'checkpoints', log: 'log', witness: 'witness' } as const;

/** A line about a key that verified something. */
export function keyLine({ use, name, thumbprint, seconds }: BelievedKey): string {
  const signed = seconds === undefined ? '' : `, signed ${new Date(seconds * 1000).toISOString()}`;
  return `  ${USES[use]} ${name}: ${thumbprint}${signed}`;
}

/** The same as members of a JSON object. */
export function keyMembers({ use, name, thumbprint, vkey, seconds }: BelievedKey): Record<string, unknown> {
  const signedAt = seconds === undefined ? {} : { signed_at: new Date(seconds * 1000).toISOString() };
  return { use, name, thumbprint, vkey: vkey ?? null, ...signedAt };
}

function asJson(verdict: BundleVerdict, hasPolicy: boolean): Record<string, unknown> {
  if (!verdict.verified) {
    const { fault, line = null, message } = verdict;
    // Keys that the policy does not name prove nothing.
    if (fault === 'policy') return { intact: null, policy: 'not_met', sentence: message };
    return { intact: false, fault: { kind: fault, line, sentence: message } };
  }
  const { selection, completeness, checkpoints, log = null, keys, questions, further, hops, furtherHops } = verdict;
  const said = keys.map(keyMembers);
  // Without a policy neither true nor false: the bundle agrees with itself, and brings the keys for that.
  const found = hasPolicy
    ? { intact: true, policy: 'met' }
    : { intact: null, policy: null, verified_with: 'bundle_keys' };
  const asked = questions.length === 0 ? {} : { questions, further_questions: further };
  const handed = hops.length === 0 ? {} : { hops, further_hops: furtherHops };
  return { ...found, selection, ...completeness, checkpoints, log, keys: said, ...handed, ...asked };
}
