import { createServer, type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { parseSettings } from '#kit/config/settings.js';
import { listen } from '#kit/testing/local-server.js';
import { gatewaySettings } from '../config.js';
import Koa from 'koa';
import { isUntrustedProxy, publicAddress, publicProtocol } from './public-address.js';

const from = { protocol: 'http', host: '10.0.0.7:8080' };
const settings = (env: Record<string, string>) => parseSettings(gatewaySettings, env);

describe('the public address', () => {
  it('is that of the request unless one is set', () => {
    expect(publicAddress(from, settings({}))).toBe('http://10.0.0.7:8080');
    expect(publicAddress(from, settings({ TOLLGATE_GATEWAY_PUBLIC_URL: 'https://ai.example.com/tollgate/' }))).toBe(
      'https://ai.example.com/tollgate',
    );
  });

  it.each(['ai.example.com', 'ftp://ai.example.com', 'https://ai.example.com/?a=b', 'https://me@ai.example.com'])(
    'cannot be %s',
    (address) => {
      expect(() => settings({ TOLLGATE_GATEWAY_PUBLIC_URL: address })).toThrow('TOLLGATE_GATEWAY_PUBLIC_URL must be an address');
    },
  );

  it('makes cookies secure for requests at its host, without a trusted proxy, and not at another host', async () => {
    const app = new Koa();
    app.use(publicProtocol(settings({ TOLLGATE_GATEWAY_PUBLIC_URL: 'https://ai.example.com/tollgate' })));
    app.use((ctx) => {
      ctx.cookies.set('name', 'value', { secure: ctx.secure });
      ctx.body = ctx.protocol;
    });
    const server = createServer(app.callback());
    const port = await listen(server);
    const at = async (host: string) => {
      const response = await new Promise<IncomingMessage>((resolve) => request({ port, headers: { host } }, resolve).end());
      return [await text(response), String(response.headers['set-cookie']).includes('secure')];
    };
    expect(await at('AI.example.com')).toEqual(['https', true]);
    expect(await at('127.0.0.1:8080')).toEqual(['http', false]);
    await new Promise((resolve) => server.close(resolve));
  });

  it('shows that a proxy is not trusted', () => {
    const of = (publicUrl: string, trustProxy: boolean) => isUntrustedProxy({ publicUrl, trustProxy });
    expect([of('https://ai.example.com', false), of('https://ai.example.com', true), of('http://10.0.0.7', false)]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
