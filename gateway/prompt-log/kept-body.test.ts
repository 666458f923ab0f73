import { describe, expect, it } from '@jest/globals';
import { keptBody, keptBytesMax } from './kept-body.js';

const image = 'iVBORw0KGgo'.repeat(1000);
const imageBytes = Math.floor((image.length * 3) / 4);

describe('what is kept of a body', () => {
  it('is the unchanged text if nothing is left out', () => {
    const text = '{ "model" : "m",\n "messages": [{"content":"<b>naïve</b> \\u00e9"}] }';
    expect(keptBody(JSON.parse(text), text)).toEqual({ text, isTruncated: false });
  });

  it.each<[string, object, object]>([
    [
      'chat-completions',
      { image_url: { url: `data:image/png;base64,${image}` } },
      { image_url: { url: `[image/png, ${imageBytes} bytes, not kept]` } },
    ],
    [
      'messages',
      { source: { type: 'base64', media_type: 'application/pdf', data: image } },
      { source: { type: 'base64', media_type: 'application/pdf', data: `[application/pdf, ${imageBytes} bytes, not kept]` } },
    ],
    [
      'audio',
      { input_audio: { data: image, format: 'wav' } },
      { input_audio: { data: `[wav, ${imageBytes} bytes, not kept]`, format: 'wav' } },
    ],
    ['a signature', { signature: image }, { signature: `[data, ${imageBytes} bytes, not kept]` }],
    [
      'credentials of tools',
      {
        tools: [{ type: 'mcp', authorization: 'secret', headers: { 'x-key': 'secret' } }],
        mcp_servers: [{ authorization_token: 'secret' }],
      },
      {
        tools: [{ type: 'mcp', authorization: '[credential, not kept]', headers: '[headers, not kept]' }],
        mcp_servers: [{ authorization_token: '[credential, not kept]' }],
      },
    ],
  ])('names the type and size of files, and no credentials: %s', (_what, body, kept) => {
    expect(JSON.parse(keptBody(body, JSON.stringify(body)).text)).toEqual(kept);
  });

  it('has small files, long texts, and schemas that name a credential', () => {
    const body = {
      url: 'data:image/gif;base64,R0lGODlh',
      text: 'a long text '.repeat(1000),
      schema: { authorization: { type: 'string' } },
    };
    expect(keptBody(body).text).toBe(JSON.stringify(body));
  });

  it.each(['x', 'é', '漢', '😀'])('is cut at the largest size, between characters: %s', (character) => {
    const { text, isTruncated } = keptBody('', character.repeat(keptBytesMax + 1));
    expect(isTruncated).toBe(true);
    const bytes = Buffer.byteLength(text);
    expect(bytes).toBeLessThanOrEqual(keptBytesMax);
    expect(bytes).toBeGreaterThan(keptBytesMax - 4);
    expect(text).not.toContain('\uFFFD');
  });
});
