/** The files that the page loads. */

import { readAsset, readRenewal } from '../browser/assets.ts';
import { PERSON_ASSETS_BASE as ASSETS_BASE, personAssets } from '../browser/person-document.ts';

export const assets = {
  ...personAssets,
  script: readAsset(import.meta.url, ASSETS_BASE, 'me', 'js'),
  renewal: readRenewal(ASSETS_BASE),
} as const;
