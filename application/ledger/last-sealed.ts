import type { Checkpoints } from '../ports/checkpoints.ts';

/** The newest checkpoint's last number, for the progress. Ids have no gaps, so a binary search finds it. */
export async function lastSealed(ledger: Pick<Checkpoints, 'page'>): Promise<number> {
  const successor = async (id: number) => (await ledger.page(id, 1))[0];
  let low = 0;
  let step = 1;
  let last = await successor(0);
  // Double the step while a checkpoint has a higher id, then halve it.
  for (let growing = true; step >= 1; step = growing ? step * 2 : Math.floor(step / 2)) {
    const beyond = await successor(low + step);
    if (beyond === undefined) growing = false;
    else {
      last = beyond;
      low += step;
    }
  }
  return last?.lastSeq ?? 0;
}
