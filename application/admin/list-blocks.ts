/** The blocks of all people in pages, the newest first. */

import { parseSponsorKey } from '../../domain/identifiers.ts';
import { instantFromMicros } from '../../domain/instant.ts';
import { type BlockSource, parseBlockSource, type SponsorBlock } from '../../domain/sponsors/block.ts';
import type { Digest } from '../ports/runtime.ts';
import type { BlockPosition, Sponsors } from '../ports/sponsors.ts';
import { type ListPage, listPage, type PageQuestion } from './list-page.ts';

export interface ListBlocksQuestion extends PageQuestion {
  readonly source: BlockSource | undefined;
}

export function listBlocks(
  { sponsors, digest }: { readonly sponsors: Pick<Sponsors, 'list'>; readonly digest: Digest },
  { source, ...question }: ListBlocksQuestion,
): Promise<ListPage<SponsorBlock>> {
  const list = {
    query: ['blocks', source],
    parse: parsePosition,
    read: async (after: BlockPosition | undefined, limit: number) => ({
      items: await sponsors.list({ source, after, limit }),
    }),
    positionOf: (block: SponsorBlock) => [String(block.blockedAt), block.sponsorKey, block.source],
  } as const;
  return listPage(digest, list, question);
}

function parsePosition([micros = '', key = '', source = '']: readonly string[]): BlockPosition | undefined {
  const blockedAt = Number(/^\d{1,16}$/.test(micros) ? micros : Number.NaN);
  const sponsorKey = parseSponsorKey(key);
  const parsed = parseBlockSource(source);
  if (!Number.isSafeInteger(blockedAt) || sponsorKey === undefined || parsed === undefined) return undefined;
  return { blockedAt: instantFromMicros(blockedAt), sponsorKey, source: parsed };
}
