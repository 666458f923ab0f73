// How messages cross between threads: encoded, as over gRPC, and the small ones of one turn of the event loop in one block of memory.
//
// A structured clone costs more than the codec, because it writes and reads the name of each field (a hold and a record with their responses:
// 42 µs for both ends, instead of 16 µs), and it turns Buffers into plain Uint8Arrays.

/** A message as it is posted: its length in the block, or its own bytes if it is large. */
export type Packed = number | Uint8Array<ArrayBuffer>;

/** The memory of larger messages is transferred instead of copied. */
const copiedBytesMax = 64 * 1024;

/** Collects the messages that are posted together. */
export class Packer {
  private readonly small: Uint8Array[] = [];
  private smallBytes = 0;
  /** The memory to transfer. */
  readonly transfers: ArrayBuffer[] = [];

  add(message: Uint8Array): Packed {
    if (message.byteLength <= copiedBytesMax) {
      this.small.push(message);
      this.smallBytes += message.byteLength;
      return message.byteLength;
    }
    // A message that is only a part of its memory is copied: other bytes in that memory may still be in use.
    const { buffer } = message as Uint8Array<ArrayBuffer>;
    if (buffer.byteLength === message.byteLength) this.transfers.push(buffer);
    return message as Uint8Array<ArrayBuffer>;
  }

  /** Returns the small messages, one after the other. */
  block(): Uint8Array<ArrayBuffer> {
    // Memory of its own: a clone copies all of the memory behind a view, such as Node's pool for small Buffers.
    const block = new Uint8Array(this.smallBytes);
    let offset = 0;
    for (const message of this.small) {
      block.set(message, offset);
      offset += message.byteLength;
    }
    return block;
  }
}

/** Returns the messages in the order in which they were added. */
export class Unpacker {
  private offset = 0;

  constructor(private readonly block: Uint8Array) {}

  next(packed: Packed): Uint8Array {
    if (typeof packed !== 'number') return packed;
    const start = this.offset;
    this.offset += packed;
    return this.block.subarray(start, this.offset);
  }
}
