/** Messages that gather for a moment and leave together: a message costs the threads more than what is in it. */

/**
 * @param post sends a list; throws when something in it cannot be sent
 * @param soon calls back when what belongs together has gathered
 * @param refuse is told of what cannot be sent
 */
export function gathered<Item>(
  post: (items: readonly Item[]) => void,
  soon: (flush: () => void) => void,
  refuse: (item: Item, error: unknown) => void,
): (item: Item) => void {
  let items: Item[] = [];

  const postAlone = (item: Item): void => {
    try {
      post([item]);
    } catch (error) {
      refuse(item, error);
    }
  };

  const flush = (): void => {
    const leaving = items;
    items = [];
    try {
      post(leaving);
    } catch {
      // Nothing of it was sent. The others must not suffer for the one.
      leaving.forEach(postAlone);
    }
  };

  return (item) => {
    if (items.push(item) === 1) soon(flush);
  };
}
