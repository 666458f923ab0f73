import { describe, expect, it } from '@jest/globals';
import type { Dispatcher } from 'undici';
import { collectGarbage } from '#kit/testing/garbage.js';
import { Exchange } from './exchange.js';

/** Returns a controller that records whether it was paused or aborted. */
function controllerOf() {
  const controller = {
    aborted: false,
    reason: null as Error | null,
    paused: false,
    abort(reason: Error) {
      Object.assign(controller, { aborted: true, reason });
    },
    pause: () => void (controller.paused = true),
    resume: () => void (controller.paused = false),
  };
  return controller satisfies Dispatcher.DispatchController;
}

function begun() {
  const exchange = new Exchange();
  const controller = controllerOf();
  exchange.onRequestStart(controller);
  const take = (text: string): void => exchange.onResponseData(controller, Buffer.from(text));
  const read = async (): Promise<string | undefined> => {
    const { done, value } = await exchange.next();
    return done === true ? undefined : Buffer.from(value).toString();
  };
  return { exchange, controller, take, read };
}

describe('an exchange', () => {
  it('yields what arrives together as one, and then what comes later', async () => {
    const { exchange, controller, take, read } = begun();
    exchange.onResponseStart(controller, 103, {});
    exchange.onResponseStart(controller, 200, { 'content-type': 'text/event-stream' });
    expect(await exchange.head).toEqual({ status: 200, headers: { 'content-type': 'text/event-stream' } });
    const first = read();
    ['a', 'b'].forEach(take);
    expect(await first).toBe('ab');
    take('c');
    exchange.onResponseEnd();
    expect([await read(), await read()]).toEqual(['c', undefined]);
  });

  it('yields what arrived before it broke off', async () => {
    const { exchange, controller, take, read } = begun();
    exchange.onResponseStart(controller, 200, {});
    take('a');
    exchange.onResponseError(controller, new Error('broken'));
    expect(await read()).toBe('a');
    await expect(read()).rejects.toThrow('broken');
  });

  it('pauses the connection while its reader does not keep up', async () => {
    const { controller, take, read } = begun();
    take('x'.repeat(64 * 1024));
    expect(controller.paused).toBe(true);
    expect(await read()).toHaveLength(64 * 1024);
    expect(controller.paused).toBe(false);
  });

  it('ends with the reason of an abort, even before it has a connection', async () => {
    const exchange = new Exchange();
    exchange.abort(new Error('no longer wanted'));
    const controller = controllerOf();
    exchange.onRequestStart(controller);
    expect(controller).toMatchObject({ aborted: true, reason: { message: 'no longer wanted' } });
    await expect(exchange.head).rejects.toThrow('no longer wanted');
    await expect(exchange.next()).rejects.toThrow('no longer wanted');
  });

  it('is not aborted once it has ended', () => {
    const { exchange, controller } = begun();
    exchange.onResponseEnd();
    exchange.abort(new Error('over'));
    expect(controller.aborted).toBe(false);
  });

  it.each<[string, (exchange: Exchange, controller: Dispatcher.DispatchController) => void]>([
    ['is complete', (exchange) => exchange.onResponseEnd()],
    ['breaks off', (exchange, controller) => exchange.onResponseError(controller, new Error('broken'))],
    ['is aborted', (exchange) => exchange.abort(new Error('no longer wanted'))],
  ])('does not keep its request in memory once it %s', async (_how, end) => {
    const exchange = new Exchange();
    exchange.head.catch(() => undefined);
    const begin = (): WeakRef<object> => {
      const controller = controllerOf();
      exchange.onRequestStart(controller);
      end(exchange, controller);
      return new WeakRef(controller);
    };
    const request = begin();
    await collectGarbage();
    expect(request.deref()).toBeUndefined();
    await exchange.return();
  });
});
