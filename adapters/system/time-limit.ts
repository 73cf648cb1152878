import type { TimeLimit } from '../../application/ports/runtime.ts';

export const timeLimit: TimeLimit = async (work, ms) => {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
};
