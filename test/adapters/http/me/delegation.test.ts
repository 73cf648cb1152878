/** How the pages show whether an agent may hand work to other agents. */

import { expect } from 'chai';
import { type Language, languages } from '../../../../adapters/http/browser/language.ts';
import { renderAgent } from '../../../../adapters/http/me/pages/agent.ts';
import { renderDelegations } from '../../../../adapters/http/me/pages/delegation.ts';
import { renderMe } from '../../../../adapters/http/me/pages/tasks.ts';
import { makeTaskId } from '../../../../domain/identifiers.ts';
import { aBusyView, aCrowdedView, aDelegation, aDelegationsView, anAgentView } from './fixtures.ts';

const SAID: Readonly<Record<Language, Readonly<Record<string, string>>>> = {
  en: {
    refuse: 'May not hand work to other agents',
    allow: 'May hand work over again',
    goesOn: 'Tasks that were handed over before go on',
    offers: 'Work that was offered and not begun yet is refused.',
    afterSignIn: 'To allow it again, you sign in again.',
    never: 'You could not allow it again here',
    inShort: 'may not hand work over',
    isRefused: 'This agent may not hand work to other agents: you refused it.',
    list: 'Agents that may not hand work over',
    none: 'You refuse it to no agent.',
    more: 'These are the latest 2. There are more.',
  },
  de: {
    refuse: 'Darf keine Arbeit an andere Agenten weitergeben',
    allow: 'Darf wieder Arbeit weitergeben',
    goesOn: 'Vorher weitergegebene Aufgaben laufen weiter',
    offers: 'Angebotene Arbeit, die noch nicht begonnen wurde, wird abgewiesen.',
    afterSignIn: 'Um es wieder zu erlauben, melden Sie sich neu an.',
    never: 'Sie könnten es hier nicht wieder erlauben',
    inShort: 'darf keine Arbeit weitergeben',
    isRefused: 'Dieser Agent darf keine Arbeit an andere Agenten weitergeben: Sie haben es abgelehnt.',
    list: 'Agenten, die keine Arbeit weitergeben dürfen',
    none: 'Sie lehnen es bei keinem Agenten ab.',
    more: 'Das sind die letzten 2. Es gibt mehr.',
  },
};

const SIGN_IN = 'href="/me/sign-in?to=delegation"';
const FORM = { refuse: 'action="/me/delegation/refuse"', allow: 'action="/me/delegation/allow"' };

for (const language of languages) {
  describe(`Handing work over, on the pages of a person, ${language}`, () => {
    const said = SAID[language];
    /** Which of these words the page has. */
    const has = (page: string, ...words: string[]) => words.map((word) => page.includes(said[word] ?? word));

    it('says before a refusal what goes on, what is refused, and what the permission will need', () => {
      const page = renderAgent(anAgentView({ delegation: aDelegation() }), language);
      expect(has(page, 'refuse', FORM.refuse, 'goesOn', 'offers', 'afterSignIn')).to.not.include(false);
      expect(has(page, 'allow', 'isRefused', 'never', FORM.allow)).to.not.include(true);
      const undated = renderAgent(anAgentView({ delegation: aDelegation({ isAllowable: false }) }), language);
      expect(has(undated, 'never', 'afterSignIn', FORM.refuse)).to.deep.equal([true, false, true]);
    });

    it('leads back to the page of the agent, by a field with a task, and names no agent in an address', () => {
      for (const isRefused of [false, true]) {
        const page = renderAgent(anAgentView({ delegation: aDelegation({ isRefused }) }), language);
        const [, form = ''] = /action="\/me\/delegation\/\w+">([\s\S]*?)<\/form>/.exec(page) ?? [];
        expect(form).to.contain(`name="task" value="${makeTaskId('01JDCK0000000000000000THR1')}"`);
        expect(form).to.contain('name="agent_id" value="jira-triage"');
        expect(page).not.to.match(/(?:href|action)="[^"]*jira-triage/);
      }
    });

    it('says that it is refused, and has the permission after a recent sign-in, else a link to a new one', () => {
      const shown = (mayAllow: boolean) =>
        has(
          renderAgent(anAgentView({ delegation: aDelegation({ isRefused: true, mayAllow }) }), language),
          ...['isRefused', 'allow', FORM.allow, SIGN_IN, FORM.refuse],
        );
      expect(shown(true)).to.deep.equal([true, true, true, false, false]);
      expect(shown(false)).to.deep.equal([true, true, false, true, false]);
    });

    it('lists all refused agents, says if there are none or more, and asks for a sign-in where one is needed', () => {
      const page = renderDelegations(aDelegationsView(), language);
      expect(page.split(FORM.allow).length - 1).to.equal(2);
      expect(page.indexOf('Nightly report bot')).to.be.lessThan(page.indexOf('Jira triage'));
      expect(has(page, 'list', 'goesOn', 'none', 'more')).to.deep.equal([true, true, false, false]);
      const old = renderDelegations(aDelegationsView({ mayAllow: false }), language);
      expect([old.split(SIGN_IN).length - 1, old.includes(FORM.allow)]).to.deep.equal([2, false]);
      expect(
        has(renderDelegations(aDelegationsView({ refused: { refusals: [], areMore: false } }), language), 'none'),
      ).to.deep.equal([true]);
      const { refused } = aDelegationsView();
      const many = renderDelegations(aDelegationsView({ refused: { ...refused, areMore: true } }), language);
      expect(has(many, 'more')).to.deep.equal([true]);
    });

    it('marks refused agents on the first page, which leads to the choice of each agent and to the list', () => {
      for (const view of [aBusyView(), aCrowdedView()]) {
        const [{ agentId } = { agentId: undefined }] = view.agents.page;
        if (agentId === undefined) throw new Error('there is no agent');
        const delegation = { refused: new Set([agentId]), hasRefusals: true };
        const page = renderMe({ ...view, delegation }, language);
        const marks = page.split(said.isRefused ?? '').length + page.split(`· ${said.inShort}</span></a>`).length - 2;
        expect(marks).to.equal(1);
        expect(has(page, 'href="/me/delegation"', 'list')).to.deep.equal([true, true]);
        expect(page).to.match(/href="\/me\/agent\?task=task_\w+(?:#delegation)?"/);
        const free = renderMe({ ...view, delegation: { refused: new Set(), hasRefusals: false } }, language);
        expect(has(free, 'isRefused', 'inShort', 'href="/me/delegation"')).to.deep.equal([false, false, false]);
      }
    });

    it('gives each control a name that no other has, by the agent', () => {
      const list = renderDelegations(aDelegationsView(), language);
      const busy = renderMe({ ...aBusyView(), delegation: { refused: new Set(), hasRefusals: false } }, language);
      for (const [page, control] of [
        [list, /id="allow-[^>]*>([\s\S]*?)<\/button>/g],
        [busy, /id="delegation-[^>]*>([\s\S]*?)<\/a>/g],
      ] as const) {
        const names = [...page.matchAll(control)].map(([, name]) => name);
        expect([names.length, new Set(names).size]).to.deep.equal([2, 2]);
      }
    });

    it('has not a word of it where the feature is off', () => {
      for (const page of [
        renderMe(aBusyView(), language),
        renderMe(aCrowdedView(), language),
        renderAgent(anAgentView(), language),
      ]) {
        expect(page).not.to.match(/delegation/i);
        expect(has(page, ...Object.keys(said))).to.not.include(true);
      }
    });
  });
}
