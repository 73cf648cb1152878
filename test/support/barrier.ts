/** A barrier: each call resolves once `many` calls have been made. */
export function barrier(many: number): () => Promise<void> {
  let [arrived, release] = [0, () => {}];
  const all = new Promise<void>((resolve) => {
    release = resolve;
  });
  return () => {
    arrived += 1;
    if (arrived === many) release();
    return all;
  };
}
