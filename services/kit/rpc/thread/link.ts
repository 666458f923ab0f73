// One end of the connection between two threads: everything that is sent in one turn of the event loop travels as one array.
import type { MessagePort } from 'node:worker_threads';
import type { Reason } from '#rules/errors/reasons.js';
import { type Packed, Packer, Unpacker } from './packing.js';

/** What travels with a call besides its request. */
export interface CallHeader {
  readonly deadlineMs?: number;
  readonly actorToken?: string;
  /** The W3C trace context; absent: none is active. */
  readonly trace?: Record<string, string>;
  /** Whether the caller wants a provisional response. */
  readonly wantsProvisional?: boolean;
}

/** An error as it travels: without its cause. */
export interface Failure {
  readonly reason: Reason;
  readonly message: string;
  readonly details: Readonly<Record<string, string>>;
  readonly retryAfterMs?: number;
}

/** The kinds of frames. */
export const Kind = {
  /** From the client: begins a call, with its request unless it streams them. */
  call: 0,
  /** A message of a stream, both ways. */
  message: 1,
  /** The end of a stream, both ways. */
  end: 2,
  /** The other end may send this many more messages of the stream. */
  credit: 3,
  /** From the client: the call is over, because its deadline has passed or its caller disconnected. */
  cancel: 4,
  /** From the server: the response of a unary call. */
  result: 5,
  /** From the server: the error that ended the call. */
  failure: 6,
  /** From the server: the response that a unary call will have if it succeeds. */
  provisional: 7,
  /** From the server: the last provisional response is the final one. */
  confirmed: 8,
} as const;

/** One step of one call. */
export type Frame =
  | [kind: typeof Kind.call, id: number, request: Uint8Array | undefined, method: string, header: CallHeader]
  | [kind: typeof Kind.message | typeof Kind.result | typeof Kind.provisional, id: number, message: Uint8Array]
  | readonly [kind: typeof Kind.end | typeof Kind.confirmed, id: number]
  | readonly [kind: typeof Kind.credit, id: number, messages: number]
  | readonly [kind: typeof Kind.cancel, id: number, isLate: boolean]
  | readonly [kind: typeof Kind.failure, id: number, failure: Failure];

/** What a link reports to its end. */
export interface LinkEnd {
  receive(frame: Frame): void;
  /** Called once, when this end or the other one has closed the link, or the other thread has ended. */
  closed(): void;
}

/** Sends and receives frames over a port. */
export class ThreadLink {
  private waiting: Frame[] = [];
  private isClosed = false;

  constructor(
    private readonly port: MessagePort,
    end: LinkEnd,
  ) {
    port.on('message', ([frames, block]: readonly [frames: readonly Frame[], block: Uint8Array]) => {
      const messages = new Unpacker(block);
      for (const frame of frames) {
        if (hasMessage(frame)) frame[2] = messages.next(frame[2] as Packed);
        end.receive(frame);
      }
    });
    port.once('close', () => {
      this.isClosed = true;
      end.closed();
    });
  }

  /** Sends a frame at the end of this turn of the event loop. */
  send(frame: Frame): void {
    if (this.isClosed) return;
    if (this.waiting.length === 0) setImmediate(() => this.flush());
    this.waiting.push(frame);
  }

  /** Sends what waits, then closes the port. */
  close(): void {
    this.flush();
    this.isClosed = true;
    this.port.close();
  }

  private flush(): void {
    if (this.waiting.length === 0 || this.isClosed) return;
    const frames = this.waiting;
    this.waiting = [];
    const messages = new Packer();
    for (const frame of frames) if (hasMessage(frame)) frame[2] = messages.add(frame[2]) as never;
    this.port.postMessage([frames, messages.block()], messages.transfers);
  }
}

/** A frame that carries a message. */
type MessageFrame = Frame & [kind: number, id: number, message: Uint8Array, ...rest: unknown[]];

function hasMessage(frame: Frame): frame is MessageFrame {
  const [kind] = frame;
  return kind === Kind.message || kind === Kind.result || kind === Kind.provisional || (kind === Kind.call && frame[2] !== undefined);
}
