// Counts the requests and tokens of each limited subject over the last 60 seconds, and its calls in flight, in memory that all threads of a process
// share. It reads no clock and never awaits: a check takes about a microsecond.
//
// Each subject has one slot: a ring of buckets of half a second, their sums, and the calls in flight of each thread. The window slides: a bucket counts
// until all of it is 60 seconds old, so that no 60 seconds admit more than the limit. A lock covers the whole table, so that a call is counted
// against all of its subjects or against none.

/** Something whose use is limited; a limit that is undefined does not apply. */
export interface WindowSubject {
  /** 64 bits of its name, so that two subjects never share one in practice. */
  readonly hash: readonly [number, number];
  readonly requests: number | undefined;
  readonly tokens: number | undefined;
  readonly concurrent: number | undefined;
}

/** What a call counts against the limits, in addition to one request. */
export interface Demand {
  /** The estimated tokens. */
  readonly tokens: number;
}

/** What was counted for a call, and when. */
export interface Counted extends Demand {
  readonly takenAtMs: number;
}

/** The current usage of a subject. */
export interface Figures<S extends WindowSubject = WindowSubject> {
  readonly subject: S;
  readonly requests: number;
  readonly tokens: number;
  readonly inFlight: number;
  /** The time until no request, or no token, counts against the limit any more. */
  readonly requestsResetMs: number;
  readonly tokensResetMs: number;
}

/** A limit that refuses a call. */
export interface Refusal<S extends WindowSubject = WindowSubject> {
  readonly figures: Figures<S>;
  readonly limit: 'requests' | 'tokens' | 'concurrent';
  readonly max: number;
  readonly used: number;
  readonly needed: number;
  /** The time until the call would be admitted; undefined if it never would. */
  readonly retryAfterMs: number | undefined;
}

/** The result of counting a call, with the figures of each subject after it. */
export type Checked<S extends WindowSubject = WindowSubject> =
  | { readonly figures: readonly Figures<S>[]; readonly refusal: Refusal<S> }
  | {
      readonly figures: readonly Figures<S>[];
      readonly refusal?: undefined;
      /** Ends the call with the tokens that it used. Must be called once. */
      end(usedTokens: number, nowMs: number): void;
    };

/** Returns two different 32-bit hashes of the text, the first by FNV-1a. */
export function subjectHash(text: string): [number, number] {
  let a = 0x811c9dc5;
  let b = 0x2b992ddf;
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    a = Math.imul(a ^ code, 0x01000193);
    b = Math.imul(b ^ code, 0x85ebca6b);
    b ^= b >>> 13;
  }
  return [(a ^ (a >>> 16)) | 0, b | 0];
}

const windowMs = 60_000;
const bucketMs = 500;
/** The buckets of the window, and the current one. */
const buckets = windowMs / bucketMs + 1;

// The cells of a slot.
const idCell = 0;
const headCell = 2;
const requestSumCell = 3;
const tokenSumCell = 4;
const requestsCell = 5;
const tokensCell = requestsCell + buckets;
const inFlightCell = tokensCell + buckets;

const lockCell = 0;
const firstSlotCell = 1;
/** After this long a thread checks again whether the lock is free: the holder may have ended without a wake-up. */
const lockWaitMs = 5;

/**
 * How many subjects the table has room for. When it is full, a new subject replaces one whose last call is the oldest; that subject's next call is
 * counted from zero.
 */
const slotsDefault = 16_384;
const probes = 32;

/** Where a table is kept: the memory and the number of threads that share it. */
export interface WindowMemory {
  readonly cells: SharedArrayBuffer;
  readonly threads: number;
}

/** Returns memory for this many threads, all of it free. Pages that are never used cost nothing. */
export function windowMemory(threads: number, slots = slotsDefault): WindowMemory {
  return { cells: new SharedArrayBuffer((firstSlotCell + slots * slotCells(threads)) * Int32Array.BYTES_PER_ELEMENT), threads };
}

const slotCells = (threads: number): number => inFlightCell + threads;

/** Clears the calls in flight of a thread that has ended, and releases its lock. */
export function clearWindows({ cells: memory, threads }: WindowMemory, thread: number): void {
  const cells = new Int32Array(memory);
  if (Atomics.compareExchange(cells, lockCell, thread, 0) === thread) Atomics.notify(cells, lockCell);
  for (let slot = firstSlotCell; slot < cells.length; slot += slotCells(threads)) {
    const cell = slot + inFlightCell + thread - 1;
    if (Atomics.load(cells, cell) !== 0) Atomics.store(cells, cell, 0);
  }
}

/** The table as one thread, numbered from 1, sees it. */
export class WindowTable {
  readonly #cells: Int32Array;
  readonly #slots: number;
  readonly #slotCells: number;
  readonly #threads: number;

  constructor(
    memory: WindowMemory,
    private readonly thread: number,
  ) {
    this.#cells = new Int32Array(memory.cells);
    this.#threads = memory.threads;
    this.#slotCells = slotCells(memory.threads);
    this.#slots = (this.#cells.length - firstSlotCell) / this.#slotCells;
  }

  /** Counts a call against all subjects, or returns the limit that refuses it for the longest time. `nowMs` is from the monotonic clock, here and below. */
  take<S extends WindowSubject>(subjects: readonly S[], demand: Demand, nowMs: number): Checked<S> {
    this.#lock();
    try {
      const slots = subjects.map((subject) => this.#slotOf(subject, nowMs));
      const figures = subjects.map((subject, index) => this.#read(slots[index]!, subject, nowMs));
      const refusals = slots.flatMap((slot, index) => this.#refusalsOf(figures[index]!, slot, demand, nowMs));
      if (refusals.length > 0) return { figures, refusal: refusals.reduce((one, other) => longer(one, other)) };
      for (const [index, slot] of slots.entries()) {
        this.#add(slot, requestSumCell, requestsCell, this.#cells[slot + headCell]!, 1);
        this.#add(slot, tokenSumCell, tokensCell, this.#cells[slot + headCell]!, demand.tokens);
        this.#cells[slot + inFlightCell + this.thread - 1]! += 1;
        figures[index] = this.#read(slot, subjects[index]!, nowMs);
      }
      return { figures, end: (usedTokens, endMs) => this.end(subjects, { tokens: demand.tokens, takenAtMs: nowMs }, usedTokens, endMs) };
    } finally {
      this.#unlock();
    }
  }

  /** Returns the time until a call would be admitted; 0 if it would be now, undefined if it never would. Counts nothing. */
  waitMs(subject: WindowSubject, demand: Demand, nowMs: number): number | undefined {
    this.#lock();
    try {
      const slot = this.#slotOf(subject, nowMs);
      const refusals = this.#refusalsOf(this.#read(slot, subject, nowMs), slot, demand, nowMs);
      return refusals.length === 0 ? 0 : refusals.reduce((one, other) => longer(one, other)).retryAfterMs;
    } finally {
      this.#unlock();
    }
  }

  /** Ends a call that was counted, and corrects its tokens: subtracts unused ones where they were counted, and counts further ones now. */
  end(subjects: readonly WindowSubject[], counted: Counted, usedTokens: number, nowMs: number): void {
    this.#end(subjects, counted, { requests: 1, tokens: usedTokens }, nowMs);
  }

  /** Ends a call that was counted but not made, so that neither its request nor its tokens count. */
  cancel(subjects: readonly WindowSubject[], counted: Counted, nowMs: number): void {
    this.#end(subjects, counted, { requests: 0, tokens: 0 }, nowMs);
  }

  #end(
    subjects: readonly WindowSubject[],
    { tokens, takenAtMs }: Counted,
    used: { readonly requests: 0 | 1; readonly tokens: number },
    nowMs: number,
  ): void {
    this.#lock();
    try {
      for (const subject of subjects) {
        const slot = this.#slotOf(subject, nowMs);
        const inFlight = slot + inFlightCell + this.thread - 1;
        if (this.#cells[inFlight]! > 0) this.#cells[inFlight]! -= 1;
        const head = this.#cells[slot + headCell]!;
        const taken = bucketOf(takenAtMs);
        const isInWindow = taken > head - buckets && taken <= head;
        if (used.tokens > tokens) this.#add(slot, tokenSumCell, tokensCell, head, used.tokens - tokens);
        else if (isInWindow) this.#add(slot, tokenSumCell, tokensCell, taken, used.tokens - tokens);
        if (isInWindow) this.#add(slot, requestSumCell, requestsCell, taken, used.requests - 1);
      }
    } finally {
      this.#unlock();
    }
  }

  #lock(): void {
    for (;;) {
      const holder = Atomics.compareExchange(this.#cells, lockCell, 0, this.thread);
      if (holder === 0) return;
      Atomics.wait(this.#cells, lockCell, holder, lockWaitMs);
    }
  }

  #unlock(): void {
    Atomics.store(this.#cells, lockCell, 0);
    if (this.#threads > 1) Atomics.notify(this.#cells, lockCell, 1);
  }

  /** Returns the slot of a subject, moved to the present bucket. */
  #slotOf({ hash }: WindowSubject, nowMs: number): number {
    const cells = this.#cells;
    const present = bucketOf(nowMs);
    let free = -1;
    let freeHead = Number.POSITIVE_INFINITY;
    for (let probe = 0; probe < probes; probe += 1) {
      const slot = firstSlotCell + (((hash[0] >>> 0) + probe) % this.#slots) * this.#slotCells;
      if (cells[slot + idCell] === hash[0] && cells[slot + idCell + 1] === hash[1]) {
        this.#advance(slot, present);
        return slot;
      }
      // Slots with calls in flight are taken last.
      const head = cells[slot + headCell]! + (this.#inFlight(slot) > 0 ? buckets * probes : 0);
      if (head < freeHead) {
        free = slot;
        freeHead = head;
      }
      // A slot that was never used ends the search.
      if (cells[slot + headCell] === 0) break;
    }
    cells.fill(0, free, free + this.#slotCells);
    cells[free + idCell] = hash[0];
    cells[free + idCell + 1] = hash[1];
    cells[free + headCell] = present;
    return free;
  }

  /** Moves the ring of a slot to a bucket, and forgets what is older than the window. A clock that went back changes nothing. */
  #advance(slot: number, present: number): void {
    const cells = this.#cells;
    const head = cells[slot + headCell]!;
    if (present <= head) return;
    for (let next = Math.max(head + 1, present - buckets + 1); next <= present; next += 1) {
      const index = next % buckets;
      cells[slot + requestSumCell]! -= cells[slot + requestsCell + index]!;
      cells[slot + tokenSumCell]! -= cells[slot + tokensCell + index]!;
      cells[slot + requestsCell + index] = 0;
      cells[slot + tokensCell + index] = 0;
    }
    cells[slot + headCell] = present;
  }

  #add(slot: number, sumCell: number, ringCell: number, bucket: number, by: number): void {
    const cell = slot + ringCell + (bucket % buckets);
    // The estimate may already have left the window with its bucket.
    const change = Math.max(by, -this.#cells[cell]!);
    this.#cells[cell]! += change;
    this.#cells[slot + sumCell]! += change;
  }

  #inFlight(slot: number): number {
    let sum = 0;
    for (let thread = 0; thread < this.#threads; thread += 1) sum += this.#cells[slot + inFlightCell + thread]!;
    return sum;
  }

  #read<S extends WindowSubject>(slot: number, subject: S, nowMs: number): Figures<S> {
    return {
      subject,
      requests: this.#cells[slot + requestSumCell]!,
      tokens: this.#cells[slot + tokenSumCell]!,
      inFlight: this.#inFlight(slot),
      requestsResetMs: this.#resetMs(slot, requestSumCell, requestsCell, nowMs),
      tokensResetMs: this.#resetMs(slot, tokenSumCell, tokensCell, nowMs),
    };
  }

  #refusalsOf<S extends WindowSubject>(figures: Figures<S>, slot: number, demand: Demand, nowMs: number): Refusal<S>[] {
    const { requests, tokens, concurrent } = figures.subject;
    const refusals: Refusal<S>[] = [];
    if (requests !== undefined && figures.requests + 1 > requests) {
      const retryAfterMs = this.#freeInMs(slot, requestsCell, figures.requests + 1 - requests, nowMs);
      refusals.push({ figures, limit: 'requests', max: requests, used: figures.requests, needed: 1, retryAfterMs });
    }
    if (tokens !== undefined && figures.tokens + demand.tokens > tokens) {
      const isPossible = demand.tokens <= tokens;
      const retryAfterMs = isPossible ? this.#freeInMs(slot, tokensCell, figures.tokens + demand.tokens - tokens, nowMs) : undefined;
      refusals.push({ figures, limit: 'tokens', max: tokens, used: figures.tokens, needed: demand.tokens, retryAfterMs });
    }
    if (concurrent !== undefined && figures.inFlight + 1 > concurrent) {
      refusals.push({ figures, limit: 'concurrent', max: concurrent, used: figures.inFlight, needed: 1, retryAfterMs: 1000 });
    }
    return refusals;
  }

  /** Returns the time until at least this much has left the window. */
  #freeInMs(slot: number, ringCell: number, excess: number, nowMs: number): number {
    const head = this.#cells[slot + headCell]!;
    let left = excess;
    for (let bucket = head - buckets + 1; bucket <= head; bucket += 1) {
      left -= this.#cells[slot + ringCell + ((bucket + buckets) % buckets)]!;
      if (left <= 0) return Math.max(1, leavesAtMs(bucket) - nowMs);
    }
    return windowMs;
  }

  /** Returns the time until the window is empty; 0 if it is. */
  #resetMs(slot: number, sumCell: number, ringCell: number, nowMs: number): number {
    if (this.#cells[slot + sumCell] === 0) return 0;
    const head = this.#cells[slot + headCell]!;
    for (let bucket = head; bucket > head - buckets; bucket -= 1) {
      if (this.#cells[slot + ringCell + ((bucket + buckets) % buckets)]! > 0) return leavesAtMs(bucket) - nowMs;
    }
    return 0;
  }
}

/** Returns the refusal with the longer wait: a client that waits for the shorter one would be refused again. */
const longer = <S extends WindowSubject>(a: Refusal<S>, b: Refusal<S>): Refusal<S> =>
  (b.retryAfterMs ?? Number.POSITIVE_INFINITY) > (a.retryAfterMs ?? Number.POSITIVE_INFINITY) ? b : a;

/** Returns the number of the bucket at a time: never 0, which is the head of an unused slot, and high enough that a whole window precedes it. */
const bucketOf = (ms: number): number => buckets + Math.floor(ms / bucketMs);

/** Returns when a bucket leaves the window. */
const leavesAtMs = (bucket: number): number => bucket * bucketMs;
