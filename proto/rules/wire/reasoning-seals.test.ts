import { expect, test } from '@jest/globals';
import { encryptedContentOf, isOwnEncryptedContent, itemOfSignature, reasoningOf, signatureOfItem } from './reasoning-seals.js';

test('a reasoning item keeps its id and its encrypted content through a signature', () => {
  const item = { id: 'rs_0a1b', encryptedContent: 'gAAAA.b==' };
  expect(itemOfSignature(signatureOfItem(item))).toEqual(item);
  expect(itemOfSignature('EqQBCkYIARgC')).toBeUndefined();
  expect(itemOfSignature('tgitem.without-end')).toBeUndefined();
});

test('signed, redacted and plain reasoning survive the round trip through encrypted_content', () => {
  for (const reasoning of [
    { text: 'Why é?', signature: 'EqQB==', redactedData: '' },
    { text: '', signature: '', redactedData: 'opaque' },
    { text: 'plain', signature: '', redactedData: '' },
  ]) {
    expect(reasoningOf(encryptedContentOf(reasoning))).toEqual(reasoning);
    expect(isOwnEncryptedContent(encryptedContentOf(reasoning))).toBe(true);
  }
});

test("a vendor's encrypted content, or one that a caller changed, is not read as the gateway's", () => {
  for (const other of ['gAAAAABo', 'tgreason.', 'tgreason.%%%', `tgreason.${Buffer.from('["a"]').toString('base64url')}`])
    expect(reasoningOf(other)).toBeUndefined();
});
