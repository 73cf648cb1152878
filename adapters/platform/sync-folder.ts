import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** A new name in a folder survives a power failure only after a sync of the folder. */
export async function syncFolder(folder: string): Promise<void> {
  const directory = await open(folder, constants.O_RDONLY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
