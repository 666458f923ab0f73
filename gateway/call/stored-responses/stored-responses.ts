// Stored responses: encrypted with a secret, and found by a name, that are derived from the platform key that received them and their ids, so that
// a response can be neither found nor read without both. Metering stores them with the records of their calls.
import { setImmediate } from 'node:timers/promises';
import { callContext } from '#client/call-context.js';
import { AppError, hasReason } from '#client/errors/app-error.js';
import { derivedBytes, seal, unseal } from '#kit/secrets/packed-box.js';
import type { StoredResponse } from '#proto/metering/v1/metering.js';
import { fieldError } from '../../formats/requests/body-reader.js';
import type { References, StoredInput } from '../../formats/format.js';
import type { JsonObject } from '../../formats/rest.js';
import { itemsOf, missingResponse, outputOf, type StoredResponseJson } from '../../formats/responses/stored.js';
import type { GatewayConfig } from '../../config.js';
import type { BodyGuard } from '../../http/body-guard.js';
import type { GatewayPeers } from '../../peers.js';

/** As many names as metering accepts in a request. */
const namesMax = 1000;

/** The items that one request may refer to. Looking up more would occupy the process for a noticeable time, before anything is charged. */
export const referencedItemsMax = 5000;

/** The caller that stores and reads responses. */
export interface Owner {
  readonly accountId: string;
  /** The platform key as it was sent. */
  readonly secret: string;
  /** Bounds what is read at the same time, as it does for bodies: a short request may refer to much. */
  readonly bodies?: Pick<BodyGuard, 'begin'> | undefined;
}

/** The owner of the objects that are read for one request, and the function that counts their bytes. */
interface Reading {
  readonly owner: Owner;
  readonly count: (bytes: number) => void;
}

/** The stored responses of an installation. */
export interface StoredResponses {
  /** Whether responses are stored. If not, there is nothing to find either. */
  readonly isOn: boolean;
  /** Returns a response as it is stored with its record; undefined if it is too large. */
  seal(owner: Owner, response: StoredResponseJson): Promise<StoredResponse | undefined>;
  /**
   * Returns what a request refers to, which is stored for the whole time again. Raises invalid_request for too many items, and with the vendor's code if
   * a response that it continues, or one before that, is not stored.
   */
  referred(owner: Owner, references: References): Promise<StoredInput>;
  /** Returns a stored response; undefined if there is none with this id. */
  find(owner: Owner, id: string): Promise<StoredResponseJson | undefined>;
  /** Returns the items of the responses that a stored one continues, as far as they are still stored. */
  continued(owner: Owner, previousIds: readonly string[]): Promise<JsonObject[]>;
  /** Deletes a response and its items. */
  delete(owner: Owner, response: StoredResponseJson): Promise<void>;
}

/** Creates the client of the store. */
export function createStoredResponses({
  config,
  metering,
}: {
  readonly config: Pick<GatewayConfig, 'storedResponseTtlMs' | 'keptAnswerBytesMax' | 'bodyBytesMax' | 'rpcTimeoutMs'>;
  readonly metering: Pick<GatewayPeers['metering'], 'getStoredParts' | 'deleteStoredParts'>;
}): StoredResponses {
  const { storedResponseTtlMs: keptMs, keptAnswerBytesMax } = config;
  const rpc = () => callContext({ caller: 'gateway', timeoutMs: config.rpcTimeoutMs });

  /** Reads for one request. Raises invalid_request if all of it is larger than a body may be, and overloaded as for bodies. */
  async function reading<T>(owner: Owner, work: (reading: Reading) => Promise<T>): Promise<T> {
    const guarded = owner.bodies?.begin(owner.accountId, () => undefined);
    let total = 0;
    const count = (bytes: number): void => {
      guarded?.add(bytes);
      total += bytes;
      if (total <= config.bodyBytesMax) return;
      const fix = `the request and what it refers to have more than ${config.bodyBytesMax} bytes; send a shorter conversation`;
      throw fieldError('invalid_request', 'input', fix);
    };
    try {
      return await work({ owner, count });
    } finally {
      guarded?.end();
    }
  }

  /** Returns the objects with these ids that are stored. */
  async function read({ owner, count }: Reading, ids: readonly string[], extendedMs: number): Promise<Map<string, JsonObject>> {
    const found = new Map<string, JsonObject>();
    const unread = [...new Set(ids)];
    while (unread.length > 0) {
      // Hashing takes 20 µs per name; other calls continue in between.
      await setImmediate();
      const byName = new Map(
        unread.splice(-namesMax).map((id) => {
          const { nameHash, secret } = nameAndSecretOf(owner, id);
          return [nameHash.toString('base64'), { id, secret }];
        }),
      );
      let nameHashes: Buffer[] = [...byName.keys()].map((name) => Buffer.from(name, 'base64'));
      while (nameHashes.length > 0) {
        const { parts, remaining } = await metering
          .getStoredParts({ accountId: owner.accountId, nameHashes, keptMs: extendedMs }, rpc())
          .catch((error: unknown) => {
            if (!hasReason(error, 'service_unavailable', 'deadline_exceeded')) throw error;
            throw new AppError('service_unavailable', 'Stored responses cannot be read now. Nothing was charged.', {
              cause: error,
            });
          });
        for (const { nameHash, content } of parts) {
          const { id, secret } = byName.get(nameHash.toString('base64'))!;
          const json = await unseal(content, secret, keptAnswerBytesMax);
          count(json.length);
          found.set(id, JSON.parse(json.toString()) as JsonObject);
        }
        nameHashes = remaining;
      }
    }
    return found;
  }

  async function responsesOf(reader: Reading, ids: readonly string[], extendedMs: number): Promise<Map<string, StoredResponseJson>> {
    const found = [...(await read(reader, ids, extendedMs))].filter(([, part]) => isResponse(part));
    return new Map(found) as unknown as Map<string, StoredResponseJson>;
  }

  async function itemsWith(reader: Reading, ids: readonly string[]): Promise<Map<string, JsonObject>> {
    return new Map([...(await read(reader, ids, keptMs))].filter(([, part]) => !isResponse(part)));
  }

  return {
    isOn: keptMs > 0,
    async seal(owner, response) {
      const parts: { readonly id: string; readonly json: Buffer }[] = [
        { id: String(response.response['id']), json: Buffer.from(JSON.stringify(response)) },
        ...outputOf(response.response).map((item) => ({ id: String(item['id']), json: Buffer.from(JSON.stringify(item)) })),
      ];
      if (parts.length > namesMax || parts.some(({ json }) => json.length > keptAnswerBytesMax)) return undefined;
      return {
        keptMs,
        parts: await Promise.all(
          parts.map(async ({ id, json }) => {
            const { nameHash, secret } = nameAndSecretOf(owner, id);
            return { nameHash, content: await seal(json, secret) };
          }),
        ),
      };
    },
    async referred(owner, { previousId, itemIds }) {
      if (previousId === undefined && itemIds.length === 0) return { previousIds: [], continued: [], items: new Map() };
      if (itemIds.length > referencedItemsMax) {
        const fix = `has ${itemIds.length} items of the type item_reference; at most ${referencedItemsMax} are allowed. Send the items themselves, or previous_response_id`;
        throw fieldError('invalid_request', 'input', fix);
      }
      return reading(owner, async (reader) => {
        const items = await itemsWith(reader, itemIds);
        if (previousId === undefined) return { previousIds: [], continued: [], items };
        const last = (await responsesOf(reader, [previousId], keptMs)).get(previousId);
        if (last === undefined) throw missingResponse(previousId);
        const before = await responsesOf(reader, last.previousIds, keptMs);
        const continued = last.previousIds.flatMap((id) => {
          const response = before.get(id);
          if (response === undefined) throw missingResponse(id);
          return itemsOf(response);
        });
        return { previousIds: [...last.previousIds, previousId], continued: [...continued, ...itemsOf(last)], items };
      });
    },
    find: (owner, id) => reading(owner, async (reader) => (await responsesOf(reader, [id], 0)).get(id)),
    continued: (owner, previousIds) =>
      reading(owner, async (reader) => {
        const before = await responsesOf(reader, previousIds, 0);
        return previousIds.flatMap((id) => (before.has(id) ? itemsOf(before.get(id)!) : []));
      }),
    async delete(owner, { response }) {
      const ids = [response, ...outputOf(response)].map(({ id }) => String(id));
      await metering.deleteStoredParts(
        { accountId: owner.accountId, nameHashes: ids.map((id) => nameAndSecretOf(owner, id).nameHash) },
        rpc(),
      );
    },
  };
}

/** Reports whether a stored part is a response; the others are items, which a request may name by mistake. */
function isResponse(part: JsonObject): boolean {
  return Array.isArray(part['previousIds']);
}

/** Returns the name under which a part is stored, and the secret that encrypts it. */
function nameAndSecretOf({ secret }: Owner, id: string): { readonly nameHash: Buffer; readonly secret: Buffer } {
  const derived = derivedBytes(secret, { salt: id, info: 'tollgate stored response', bytes: 64 });
  return { nameHash: derived.subarray(0, 32), secret: derived.subarray(32) };
}
