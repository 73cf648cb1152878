/**
 * Stores sessions, grants and codes outside the `Provider` object, so that they survive a key rotation. The library
 * checks their expiry whenever it reads them.
 */

import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';

export function memoryStorage(): AdapterFactory {
  const models = new Map<string, Map<string, AdapterPayload>>();
  return (model) => {
    const entries = models.get(model) ?? new Map<string, AdapterPayload>();
    models.set(model, entries);
    return adapterOver(entries);
  };
}

function adapterOver(entries: Map<string, AdapterPayload>): Adapter {
  const findBy = (member: 'uid' | 'userCode', value: string) =>
    [...entries.values()].find((payload) => payload[member] === value);
  return {
    async upsert(id, payload) {
      entries.set(id, payload);
    },
    async find(id) {
      return entries.get(id);
    },
    async findByUid(uid) {
      return findBy('uid', uid);
    },
    async findByUserCode(userCode) {
      return findBy('userCode', userCode);
    },
    async consume(id) {
      const payload = entries.get(id);
      if (payload !== undefined) {
        entries.set(id, { ...payload, consumed: Math.floor(Date.now() / 1000) });
      }
    },
    async destroy(id) {
      entries.delete(id);
    },
    async revokeByGrantId(grantId) {
      for (const [id, payload] of entries) {
        if (payload.grantId === grantId) {
          entries.delete(id);
        }
      }
    },
  };
}
