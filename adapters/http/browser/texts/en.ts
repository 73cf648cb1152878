/** What all pages for people say of a sign-in that failed, and of a fault. The action is the label of the link. */

export const messages = {
  sign_in_superseded: {
    title: 'Another window began a sign-in',
    text: 'A browser can complete only the sign-in that it began last. Nothing is wrong with your account.',
    action: 'Begin again',
  },
  sign_in_code_refused: {
    title: 'This sign-in is over',
    text: 'It was used before, or took too long. Nothing is wrong with your account.',
    action: 'Begin again',
  },
  sign_in_cancelled: {
    title: 'The sign-in was cancelled',
    text: 'You, or your organisation for you, did not agree to it.',
    action: 'Begin again',
  },
  login_required: {
    title: 'Your organisation did not ask you to sign in',
    text: 'It cannot sign you in without asking you. Begin again, and follow its pages to the end.',
    action: 'Begin again',
  },
  sign_in_answer_refused: {
    title: 'The answer of your organisation is incomplete',
    text: 'Part of it is missing, or it is meant for another service. If this happens again, tell your administrator.',
    action: 'Begin again',
  },
  id_token_refused: {
    title: 'The sign-in was refused',
    text: 'This service cannot trust what your organisation says about you. Tell your administrator: the log of this service has the reason.',
    action: 'Begin again',
  },
  account_refused: {
    title: 'Your account cannot use this page',
    text: 'Your organisation signed you in, but does not say which person you are here. Ask your administrator.',
    action: 'Begin again',
  },
  client_refused: {
    title: 'Your organisation does not accept this service',
    text: 'The sign-in of your organisation refuses this service, not you. Tell your administrator: the registration of this page there must be checked.',
    action: 'Try again',
  },
  sign_in_dpop_demanded: {
    title: 'Your organisation demands what this service cannot do',
    text: 'The sign-in of your organisation demands a proof that this service does not give. Nothing is wrong with your account. Tell your administrator: the registration of this page there must be changed.',
    action: 'Try again',
  },
  provider_unavailable: {
    title: 'The sign-in is not available',
    text: 'The sign-in of your organisation does not answer. Please try again in a minute.',
    action: 'Try again',
  },
  provider_unreadable: {
    title: 'The sign-in gave no usable answer',
    text: 'This service cannot read what the sign-in of your organisation answered. Please try again in a minute. If this happens again, tell your administrator.',
    action: 'Try again',
  },
  rate_limited: {
    title: 'Too many requests',
    text: 'Many requests came from your network in a short time. Nothing was changed. Please wait a minute.',
    action: 'Try again',
  },
  overloaded: {
    title: 'The service is busy',
    text: 'Nothing was changed. Please try again in a few seconds.',
    action: 'Try again',
  },
  storage_unavailable: {
    title: 'The service cannot reach its database',
    text: 'It is not certain whether your request took effect. Please look again in a few seconds.',
    action: 'Look again',
  },
  fault: {
    title: 'Something went wrong',
    text: 'It is not certain whether your request took effect. The operators have a record of the error.',
    action: 'Look again',
  },
};

export type PersonMessage = keyof typeof messages;
