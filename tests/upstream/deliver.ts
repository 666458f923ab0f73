// Writes an answer to the wire, with whatever shall go wrong on the way.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Frame } from './chat-completions.js';
import type { Fault, Script } from './script.js';

/** Writes the frames of a stream. Resolves when the stub has no more to send; a stall resolves when the client has left. */
export async function deliverFrames(response: ServerResponse, frames: readonly Frame[], script: Script, errorFrame: (error: unknown) => Frame): Promise<void> {
  const { fault } = script;
  const contentType = fault?.kind === 'content-type' ? fault.contentType : 'text/event-stream; charset=utf-8';
  const huge = fault?.kind === 'huge-header' ? { 'x-huge': 'h'.repeat(fault.bytes) } : {};
  response.writeHead(200, { 'content-type': contentType, 'cache-control': 'no-cache', 'x-request-id': 'req_stub', 'request-id': 'req_stub', ...huge });
  response.flushHeaders();
  const planned = withFault(frames, fault, errorFrame);
  let bytesLeft = fault?.kind === 'cut' || fault?.kind === 'reset' ? fault.afterBytes : Number.POSITIVE_INFINITY;
  for (const frame of planned) {
    if (response.destroyed) return;
    const bytes = Buffer.from(frame.text).subarray(0, bytesLeft);
    bytesLeft -= bytes.length;
    await write(response, bytes, fault?.kind === 'drip');
    if (bytesLeft === 0) break;
    if (script.frameDelayMs !== undefined) await sleep(script.frameDelayMs);
  }
  if (fault?.kind === 'stall') {
    const alive = fault.signsOfLife === true ? setInterval(() => response.write(': still here\n\n'), 500) : undefined;
    await new Promise((resolve) => response.once('close', resolve));
    clearInterval(alive);
  } else if (fault?.kind === 'reset') {
    // A reset overtakes bytes that the client has not read yet.
    await sleep(30);
    response.socket?.resetAndDestroy();
  } else response.end();
}

function withFault(frames: readonly Frame[], fault: Fault | undefined, errorFrame: (error: unknown) => Frame): readonly Frame[] {
  switch (fault?.kind) {
    case 'stall':
      return frames.slice(0, fault.afterFrames);
    case 'malformed-json':
      return [...frames.slice(0, fault.afterFrames), { text: 'data: {"choices":[{"index":0,\n\n' }];
    case 'error-frame':
      return [...frames.slice(0, fault.afterFrames), errorFrame(fault.error)];
    case 'huge-chunk':
      return [frames[0]!, { text: `data: {"type":"ping","padding":"${'p'.repeat(fault.bytes)}"}\n\n` }, ...frames.slice(1)];
    default:
      return frames;
  }
}

/** Waits for the client to take what was written, so that the stub too notices a slow reader. */
async function write(response: ServerResponse, bytes: Uint8Array, byteByByte: boolean): Promise<void> {
  const parts = byteByByte ? Array.from(bytes, (byte) => Uint8Array.of(byte)) : [bytes];
  for (const part of parts) {
    if (response.destroyed) return;
    if (!response.write(part)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    // A turn of the event loop between bytes makes each a packet of its own.
    if (byteByByte) await new Promise((resolve) => setImmediate(resolve));
  }
}

function once(response: ServerResponse, event: string): Promise<void> {
  return new Promise((resolve) => response.once(event, () => resolve()));
}
