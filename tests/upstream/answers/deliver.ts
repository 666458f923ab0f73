// Writes an answer to the wire, with the faults of its script.
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { Fault, Script, WireStyle } from '../script.js';

/** Writes the frames of a stream. Resolves when the stub has nothing more to send; a stall resolves when the client disconnects. */
export async function deliverFrames(
  response: ServerResponse,
  frames: readonly string[],
  script: Script,
  errorFrame: (error: unknown) => string,
): Promise<void> {
  const { fault, style } = script;
  const contentType = fault?.kind === 'content-type' ? fault.contentType : 'text/event-stream; charset=utf-8';
  const huge = fault?.kind === 'huge-header' ? { 'x-huge': 'h'.repeat(fault.bytes) } : {};
  const encoding = fault?.kind === 'gzip' ? { 'content-encoding': 'gzip' } : {};
  response.writeHead(200, {
    'content-type': contentType,
    'cache-control': 'no-cache',
    'x-request-id': 'req_stub',
    'request-id': 'req_stub',
    ...huge,
    ...encoding,
  });
  response.flushHeaders();
  const planned = styled(withFault(frames, fault, errorFrame), style);
  if (fault?.kind === 'gzip') return void response.end(gzipSync(planned.join('')));
  let bytesLeft = fault?.kind === 'cut' || fault?.kind === 'reset' ? fault.afterBytes : Number.POSITIVE_INFINITY;
  const packetBytes = fault?.kind === 'drip' ? 1 : style?.packetBytes;
  for (const frame of planned) {
    if (response.destroyed) return;
    const bytes = Buffer.from(frame).subarray(0, bytesLeft);
    bytesLeft -= bytes.length;
    await write(response, bytes, packetBytes);
    if (bytesLeft === 0) break;
    if (script.frameDelayMs !== undefined) await sleep(script.frameDelayMs);
  }
  await finish(response, fault);
}

/** Writes a whole answer as JSON, after the pause of one frame. A stall sends the first half of it. */
export async function deliverWhole(response: ServerResponse, json: string, { fault, frameDelayMs }: Script): Promise<void> {
  if (frameDelayMs !== undefined) await sleep(frameDelayMs);
  if (response.destroyed) return;
  response.writeHead(200, { 'content-type': 'application/json', 'x-request-id': 'req_stub', 'request-id': 'req_stub' });
  const isCut = fault?.kind === 'cut' || fault?.kind === 'reset';
  response.write(json.slice(0, isCut ? fault.afterBytes : fault?.kind === 'stall' ? json.length / 2 : undefined));
  await finish(response, fault);
}

async function finish(response: ServerResponse, fault: Fault | undefined): Promise<void> {
  if (fault?.kind === 'stall') {
    const alive = fault.signsOfLife === true ? setInterval(() => response.write(': still here\n\n'), 500) : undefined;
    await new Promise((resolve) => response.once('close', resolve));
    clearInterval(alive);
  } else if (fault?.kind === 'reset') {
    // A reset would discard bytes that the client has not read yet.
    await sleep(30);
    response.socket?.resetAndDestroy();
  } else response.end();
}

function withFault(frames: readonly string[], fault: Fault | undefined, errorFrame: (error: unknown) => string): readonly string[] {
  switch (fault?.kind) {
    case 'stall':
      return frames.slice(0, fault.afterFrames);
    case 'malformed-json':
      return [...frames.slice(0, fault.afterFrames), 'data: {"choices":[{"index":0,\n\n'];
    case 'error-frame':
      return [...frames.slice(0, fault.afterFrames), errorFrame(fault.error)];
    case 'huge-chunk':
      return [frames[0]!, `data: {"type":"ping","padding":"${'p'.repeat(fault.bytes)}"}\n\n`, ...frames.slice(1)];
    default:
      return frames;
  }
}

function styled(frames: readonly string[], style: WireStyle = {}): readonly string[] {
  const { lineEnd = '\n', comments = false, dataOnly = false, unterminated = false } = style;
  return frames.map((frame, index) => {
    let text = dataOnly ? frame.replace(/^event: .*\n/gm, '') : frame;
    if (comments) text = `: comment ${index}\n\n${text}`;
    if (unterminated && index === frames.length - 1) text = text.trimEnd();
    return lineEnd === '\n' ? text : text.replaceAll('\n', lineEnd);
  });
}

/** Writes bytes and waits until the client has accepted them, so that a slow reader also slows the stub. */
async function write(response: ServerResponse, bytes: Uint8Array, packetBytes = bytes.length): Promise<void> {
  for (let start = 0; start < bytes.length; start += packetBytes) {
    if (response.destroyed) return;
    if (!response.write(bytes.subarray(start, start + packetBytes))) await Promise.race([once(response, 'drain'), once(response, 'close')]);
    // A turn of the event loop between writes sends each of them as its own packet.
    if (packetBytes < bytes.length) await new Promise((resolve) => setImmediate(resolve));
  }
}

function once(response: ServerResponse, event: string): Promise<void> {
  return new Promise((resolve) => response.once(event, () => resolve()));
}
