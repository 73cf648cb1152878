import type { Settings } from './settings.ts';

/** Decisions "Names and identifiers": `NODE_ENV=development`; anything else is not a development host. */
export function isDevelopmentHost(settings: Pick<Settings, 'NODE_ENV'>): boolean {
  return settings.NODE_ENV === 'development';
}
