/** The words of the pages in English. Each language has the same keys: a key that another table lacks does not compile. */

import { type Html, html } from '../../browser/html.ts';

export const en = {
  /** The browser keeps the title: it names no agent. */
  title: 'An agent asks you',
  skipToQuestion: 'Skip to the question',
  signedInAs: (person: Html) => html`Signed in as ${person}`,
  /** Where the person's name is shown in place of the sponsor key. */
  knownAs: (key: Html) => html`The operators of this service find you as ${key}.`,
  asks: (agent: Html) => html`May ${agent} act for you?`,
  /** Of an agent that no key authenticates. */
  unproven:
    'This program cannot prove its name. Allow it only if you have just started it yourself, and if you expect this page.',
  where: 'Where',
  answerTo: 'Your answer goes to',
  thisComputer: 'a program on this computer',
  thisDevice: (scheme: Html) => html`a program on this device, which opens ${scheme} links`,
  purpose: 'Why',
  statedByAgent: 'These are the agent’s words. They are not checked.',
  /** Where an agent must have a purpose, and stated none. */
  writePurpose: 'What do you need the agent for?',
  purposeIsSeen: 'The operators of this service can read this.',
  may: 'What the agent may do',
  mayMeans: 'Take away what you do not want.',
  nothingChosen: 'Choose at least one, or refuse.',
  purposeMissing: 'Write at least a word.',
  until: 'For how long',
  longest: 'at most',
  stoppable: 'You can stop the agent at any time on the page',
  /** The label of the link to `/me`. */
  toMe: 'What acts for you',
  timeLeft: (left: string) => `This question ends in ${left}.`,
  allow: 'Allow',
  refuse: 'Refuse',
  /** The link of a page that ends the way. It tells the client. */
  backToClient: 'Back to the program',
  /** Of a page without such a link. */
  close: 'You can close this page.',
  /** The same, where a new beginning may succeed. */
  beginAgain: 'You can close this page, and begin again in the program that opened it.',
  /** The pages that say why a request has ended, by reason. */
  messages: {
    client_unknown: {
      title: 'This program is not known here',
      text: 'No agent is registered under the name that the program sent. Ask the operators of this service to register it.',
    },
    client_document_unavailable: {
      title: 'This program could not be checked',
      text: 'The description that it publishes about itself could not be fetched. Please try again in a minute.',
    },
    client_document_unusable: {
      title: 'This program describes itself wrongly',
      text: 'The description that it publishes about itself cannot be used here. The log of this service says why. Please tell its operators.',
    },
    redirect_uri_not_registered: {
      title: 'The answer would go to an unknown address',
      text: 'This address is not registered for the program, so nothing was sent there. If you did not begin this yourself, the link that you opened may be false.',
    },
    malformed: { title: 'This address cannot be read', text: 'Part of it is missing or was changed.' },
    request_expired: {
      title: 'This question is over',
      text: 'Its time was up, it began in another browser, or this browser keeps no cookies. Nothing was allowed.',
    },
    already_allowed: {
      title: 'You have already allowed this',
      text: 'Each question takes one answer. If the program does not go on, begin again there.',
    },
    already_refused: {
      title: 'You have already refused this',
      text: 'Each question takes one answer. Nothing was allowed.',
    },
    ended: {
      title: 'This question has ended',
      text: 'Agents were stopped, or your sign-in ended, before you answered. Nothing was allowed.',
    },
    replaced: {
      title: 'Newer questions took its place',
      text: 'Too many questions waited for you at once, and the oldest ended. Nothing was allowed.',
    },
    agent_disabled: {
      title: 'This agent is turned off',
      text: 'An administrator has turned it off. Nothing was allowed.',
    },
    sponsor_disabled: {
      title: 'Agents may not act for you',
      text: 'Your organisation has blocked agents for you, or you have paused them. Nothing was allowed.',
    },
    sponsor_not_found: {
      title: 'Your organisation does not know you here',
      text: 'So agents may not act for you. Ask your administrator.',
    },
    sponsor_status_unavailable: {
      title: 'Your organisation does not answer',
      text: 'It must confirm that agents may act for you, and did not. Please try again in a minute.',
    },
    actor_not_named: {
      title: 'Your organisation names another agent',
      text: 'It does not permit this agent to act for you. Ask your administrator.',
    },
    sign_in_other_person: {
      title: 'Two people signed in',
      text: 'The sign-in of your organisation named two different people. Nothing was allowed. Tell your administrator.',
    },
    scope_intersection_empty: {
      title: 'You cannot give this agent anything',
      text: 'You hold none of the permissions that it asks for. Ask your administrator.',
    },
    audience_not_allowed: {
      title: 'The agent may not act there',
      text: 'It is not registered for the service at which it wants to act. Nothing was allowed.',
    },
    client_not_public: {
      title: 'This program cannot prove its name',
      text: 'This service accepts only programs that can. Ask your administrator.',
    },
    subject_logged_out: {
      title: 'You were signed out meanwhile',
      text: 'Your organisation has ended your sign-in. Nothing was allowed.',
    },
    subject_keys_unavailable: {
      title: 'The sign-in could not be checked',
      text: 'The keys of your organisation could not be fetched. Please try again in a minute.',
    },
    token_refused: {
      title: 'The sign-in cannot be used for agents',
      text: 'This service cannot use what your organisation says about you. Nothing was allowed. Tell your administrator: the records of this service have the reason.',
    },
    request_refused: {
      title: 'The program asked for something that is not possible',
      text: 'Its registration may have changed meanwhile. Nothing was allowed.',
    },
    sign_in_undated: {
      title: 'Your organisation does not say when you signed in',
      text: 'To start an agent, you must show that you have just signed in. Ask your administrator.',
    },
    sign_in_too_old: {
      title: 'You have not just signed in',
      text: 'To start an agent, you must enter your credentials now. Your organisation did not confirm that you did.',
    },
    form_refused: {
      title: 'Nothing was changed',
      text: 'The answer came from another page or from another browser.',
    },
  },
};

export type Texts = typeof en;
export type OwnMessage = keyof Texts['messages'];
