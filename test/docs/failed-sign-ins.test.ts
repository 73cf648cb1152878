/** docs/people.md lists the causes of a failed sign-in, with the words of the page and of the log. */

import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { languages } from '../../adapters/http/browser/language.ts';
import { renderMessage as renderOfConsole } from '../../adapters/http/console/messages.ts';
import { renderMessage } from '../../adapters/http/me/message.ts';
import { signInDenials } from '../../domain/sign-in-denial.ts';

const page = readFileSync(new URL('../../docs/people.md', import.meta.url), 'utf8');
const titleIn = (document: string) => /<h1>([^<]*)<\/h1>/.exec(document)?.[1];

describe('The causes of a failed sign-in', () => {
  const ofApprovers = ['approver_undated', 'approver_not_fresh'] as const;
  const ofDelegation = ['delegation_undated', 'delegation_not_fresh'] as const;
  const others = ['sign_in_incomplete', 'sign_in_ended', 'several_sessions'] as const;
  const ofMe = [...signInDenials, ...ofApprovers, ...ofDelegation, ...others];

  it('are listed in docs/people.md, each with the title of its page, its status and its word in the log', () => {
    const rows = [...page.matchAll(/^\| ([^|]+) \((\d{3})\) \| `(\w+)` \|/gm)].map(([, title, , word]) => [
      word,
      title,
    ]);
    expect(rows).to.have.deep.members(ofMe.map((kind) => [kind, titleIn(renderMessage(kind, 'en', ''))]));
  });

  it('have different titles in each language, and at the console', () => {
    for (const language of languages) {
      expect(new Set(ofMe.map((kind) => titleIn(renderMessage(kind, language, '')))).size).to.equal(ofMe.length);
    }
    // No sign-in at the console has a maximum age.
    const ofConsole = [...signInDenials, ...others].filter(
      (kind) => kind !== 'sign_in_undated' && kind !== 'sign_in_too_old',
    );
    const titles = ofConsole.map((kind) => titleIn(renderOfConsole(kind)));
    expect(new Set(titles).size).to.equal(ofConsole.length);
  });
});
