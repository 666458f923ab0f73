// The registered callers as this process knows them: a copy of what auth keeps. While the copy may be stale, none of them is admitted.

/** A caller that an operator added. */
export interface RegisteredCaller {
  readonly name: string;
  /** "CN=billing-team", or a SPIFFE id. */
  readonly identity: string;
  readonly grants: ReadonlySet<string>;
  /** Undefined: every account. */
  readonly accountIds: ReadonlySet<string> | undefined;
  /**
   * SHA-256 fingerprints (lower-case hex) of the accepted certificates, each with the time (epoch ms) when it stops being accepted; an empty
   * list accepts any certificate.
   */
  readonly certificates: readonly { readonly sha256: string; readonly untilMs: number | undefined }[];
  /** Increases with every change. */
  readonly version: bigint;
}

/** How long after the last update the copy counts as current; after that callers are refused. */
const staleAfterMs = 1000;

/** Holds the copy of one process. */
export class CallerDirectory {
  private byName = new Map<string, RegisteredCaller>();
  private byIdentity = new Map<string, RegisteredCaller>();
  private confirmedAtMs: number | undefined;
  private staleTimer: NodeJS.Timeout | undefined;
  private readonly listeners = new Set<() => void>();
  private readonly seenAtMs = new Map<string, number>();

  /** Replaces all callers. */
  reset(callers: readonly RegisteredCaller[]): void {
    this.byName = new Map(callers.map((caller) => [caller.name, caller]));
    this.byIdentity = new Map(callers.map((caller) => [caller.identity, caller]));
    this.changed();
  }

  /** Adds, replaces or removes a caller, unless a newer version is known. */
  put(caller: RegisteredCaller, isRevoked = false): void {
    const known = this.byName.get(caller.name);
    if (known !== undefined && known.version > caller.version) return;
    if (known !== undefined) {
      this.byName.delete(known.name);
      if (this.byIdentity.get(known.identity) === known) this.byIdentity.delete(known.identity);
    }
    if (!isRevoked) {
      this.byName.set(caller.name, caller);
      this.byIdentity.set(caller.identity, caller);
    }
    this.changed();
  }

  /** Records that the copy is current now. */
  confirm(): void {
    this.confirmedAtMs = performance.now();
    clearTimeout(this.staleTimer);
    this.staleTimer = setTimeout(() => this.changed(), staleAfterMs + 1).unref();
  }

  /** Records that the copy is no longer kept current. */
  lose(): void {
    clearTimeout(this.staleTimer);
    this.confirmedAtMs = undefined;
    this.changed();
  }

  /** Reports whether the copy is at most a second old. */
  isCurrent(): boolean {
    return this.confirmedAtMs !== undefined && performance.now() - this.confirmedAtMs <= staleAfterMs;
  }

  /** Returns the caller with this common name or SPIFFE ID, if it is known. */
  find(identity: string): RegisteredCaller | undefined {
    return this.byIdentity.get(identity.startsWith('spiffe://') ? identity : `CN=${identity}`);
  }

  /** Calls the function after each change and when the copy becomes stale, until the returned function is called. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Records that the caller was admitted now. */
  noteSeen(name: string): void {
    this.seenAtMs.set(name, Date.now());
  }

  /** Returns when each caller was last admitted (epoch ms), for callers admitted since the previous call of this function. */
  takeSeen(): [name: string, atMs: number][] {
    const seen = [...this.seenAtMs];
    this.seenAtMs.clear();
    return seen;
  }

  /** Notes again what `takeSeen` returned, except for callers that were removed meanwhile. */
  returnSeen(seen: readonly (readonly [name: string, atMs: number])[]): void {
    for (const [name, atMs] of seen) if (this.byName.has(name) && !this.seenAtMs.has(name)) this.seenAtMs.set(name, atMs);
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
