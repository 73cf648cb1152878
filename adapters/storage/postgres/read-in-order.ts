import type { Built, Rows } from '../rows/column.ts';
import type { Connections } from './connections.ts';

/** A bitmap scan loses the order of its index. */
const keepOrder = { name: 'keep_order', text: "select set_config('enable_bitmapscan', 'off', true)" };

/**
 * Reads a page along the index that has its order. The planner estimates a bound on several columns by the first one alone.
 * For a frequent name it may so expect few rows, and would read and sort all rows of the name.
 */
export function readInOrder<Row>(
  { readTogether }: Pick<Connections, 'readTogether'>,
  query: Built,
): Promise<Rows<Row>> {
  return readTogether(async (run) => {
    await run(keepOrder);
    return run<Row>(query);
  });
}
