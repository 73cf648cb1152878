/**
 * Fetches the metadata documents of clients, and keeps each as long as its HTTP headers allow. Anyone can name a client in a
 * request, so anyone can cause a fetch: but only of a URL that an operator registered, and one at a time for each URL.
 */

import type { ClientDocuments, ReadClientDocument } from '../../application/ports/client-documents.ts';
import { type Network, type NetworkAnswer, NetworkFailure } from '../../application/ports/network.ts';
import type { Clock } from '../../application/ports/runtime.ts';
import { type Log, traceFields } from '../../application/ports/telemetry.ts';
import { judgeClientDocument } from '../../domain/authorization/client-document.ts';
import { type Instant, secondsBetween } from '../../domain/instant.ts';
import { parseStrictJson } from '../../domain/tokens/strict-json.ts';
import type { Trace } from '../../domain/trace-context.ts';

/** The same limit as for a key set. */
const TIMEOUT_MS = 5000;
/** Sixteen addresses, sixteen keys and a description fit. */
const MAX_BYTES = 16 * 1024;
/** A client that its owner changed or closed must not stay as it was for long. */
const MAX_FRESHNESS_SECONDS = 3600;
/** Registered documents are far fewer. The oldest entry is evicted first. */
const MAX_KEPT = 1000;
/** Callers that wait for one document. Each holds a connection; all share one request. */
const MAX_WAITING = 256;
/**
 * After a fetch ends at its time limit, no caller waits for the document for this time. One fetch at a time goes on, so that the
 * document is known soon after its host answers again.
 */
const NOT_WAITED_FOR_SECONDS = 30;

interface ClientDocumentsOptions {
  /** The control plane's URL. */
  readonly issuer: string;
  /** The setting `Service:AgentKeys:BlockPrivateNetworks`. */
  readonly publicOnly: boolean;
}

type Usable = Extract<ReadClientDocument, { readonly kind: 'read' }>;

interface Entry {
  /** The last usable document, and until when it is fresh. */
  last: { readonly text: string; readonly answer: Usable } | undefined;
  fresh: { readonly since: Instant; readonly seconds: number } | undefined;
  underWay: Promise<ReadClientDocument> | undefined;
  waiting: number;
  timedOutAt: Instant | undefined;
  /** The problem that the log has. */
  logged: string | undefined;
}

export function clientDocuments(
  network: Network,
  clock: Clock,
  log: Log,
  { issuer, publicOnly }: ClientDocumentsOptions,
): ClientDocuments {
  const entries = new Map<string, Entry>();

  function entryOf(uri: string): Entry {
    const known = entries.get(uri);
    if (known !== undefined) return known;
    const entry: Entry = {
      last: undefined,
      fresh: undefined,
      underWay: undefined,
      waiting: 0,
      timedOutAt: undefined,
      logged: undefined,
    };
    entries.set(uri, entry);
    const [oldest] = entries.keys();
    if (entries.size > MAX_KEPT && oldest !== undefined) entries.delete(oldest);
    return entry;
  }

  async function fetchNow(entry: Entry, uri: string, trace?: Trace): Promise<ReadClientDocument> {
    // Taken before the request is sent, because the answer may be as old as that.
    const since = clock.now();
    const fetched = await fetchDocument(network, uri, publicOnly, trace);
    entry.timedOutAt = fetched.kind === 'unavailable' && fetched.timedOut === true ? clock.now() : undefined;
    if (fetched.kind === 'unavailable' && fetched.cause !== undefined)
      log.error('Reading the document of a client failed.', fetched.cause, traceFields(trace));
    const answer = fetched.kind === 'fetched' ? read(entry, fetched.text, uri) : fetched;
    remark(entry, uri, 'problem' in answer ? answer.problem : undefined, trace);
    entry.fresh =
      answer.kind === 'read' && fetched.kind === 'fetched'
        ? { since, seconds: Math.min(fetched.freshness, MAX_FRESHNESS_SECONDS) }
        : undefined;
    return answer.kind === 'unavailable' ? { kind: 'unavailable' } : answer;
  }

  /** The same content is the same object, by which its imported keys are kept. */
  function read(entry: Entry, text: string, uri: string): ReadClientDocument {
    if (entry.last?.text === text) return entry.last.answer;
    const verdict = judgeClientDocument(parseStrictJson(text), uri, issuer);
    if (verdict.kind === 'invalid') return { kind: 'unusable', problem: verdict.problem };
    const answer: Usable = { kind: 'read', document: verdict.document };
    entry.last = { text, answer };
    return answer;
  }

  /** A line is logged only if the problem differs from the previous one. */
  function remark(entry: Entry, uri: string, problem: string | undefined, trace?: Trace): void {
    if (problem === entry.logged) return;
    const about = { ...traceFields(trace), document: uri };
    if (problem === undefined) log.info('The document of a client can be used again.', about);
    else
      log.warn('The document of a client cannot be used, so no person can start a task there.', { ...about, problem });
    entry.logged = problem;
  }

  return {
    async read(uri, trace, permit) {
      const entry = entryOf(uri);
      const { fresh, last } = entry;
      if (last !== undefined && fresh !== undefined && isWithin(clock, fresh.since, fresh.seconds)) return last.answer;
      entry.underWay ??= fetchNow(entry, uri, trace).finally(() => {
        entry.underWay = undefined;
      });
      const isSilent = entry.timedOutAt !== undefined && isWithin(clock, entry.timedOutAt, NOT_WAITED_FOR_SECONDS);
      if (isSilent || entry.waiting >= MAX_WAITING) return { kind: 'unavailable' };
      entry.waiting += 1;
      const resume = permit?.pause();
      try {
        return await entry.underWay;
      } finally {
        resume?.();
        entry.waiting -= 1;
      }
    },
  };
}

/** Whether less time has passed. A time in the future means that the clock was set back. */
function isWithin(clock: Clock, since: Instant, seconds: number): boolean {
  const age = secondsBetween(since, clock.now());
  return age >= 0 && age < seconds;
}

type FetchedDocument =
  | { readonly kind: 'fetched'; readonly text: string; readonly freshness: number }
  /** `cause` is a fault of this program. */
  | { readonly kind: 'unavailable'; readonly problem: string; readonly timedOut?: boolean; readonly cause?: unknown }
  | { readonly kind: 'unusable'; readonly problem: string };

async function fetchDocument(
  network: Network,
  uri: string,
  publicOnly: boolean,
  trace: Trace | undefined,
): Promise<FetchedDocument> {
  try {
    const answer = await network.send({
      method: 'GET',
      url: uri,
      headers: { accept: 'application/json' },
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_BYTES,
      publicOnly,
      trace,
      purpose: 'client',
    });
    return documentIn(answer);
  } catch (cause) {
    // Also an error of another class, which is a fault of this program: several callers wait for this promise.
    if (!(cause instanceof NetworkFailure)) return { kind: 'unavailable', problem: 'Reading it failed.', cause };
    const { message: problem, timedOut, status } = cause;
    return status === 200 ? { kind: 'unusable', problem } : { kind: 'unavailable', problem, timedOut };
  }
}

function documentIn({ status, body, mediaType = '', freshness = 0 }: NetworkAnswer): FetchedDocument {
  // A redirect is not followed: another host would then describe the client (§4).
  if (status >= 300 && status < 400)
    return {
      kind: 'unusable',
      problem: `Its answer is a redirect (${status}). Register the URL of the document itself.`,
    };
  if (status === 404 || status === 410)
    return { kind: 'unusable', problem: `Its host answered with status ${status}.` };
  if (status !== 200) return { kind: 'unavailable', problem: `The answer's status was ${status}.` };
  // §4: application/json, or a more specific type.
  return /^application\/(?:[^/]+\+)?json$/.test(mediaType)
    ? { kind: 'fetched', text: body, freshness }
    : { kind: 'unusable', problem: 'Its Content-Type must be application/json.' };
}
