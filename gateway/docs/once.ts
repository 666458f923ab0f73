/** Returns a function that makes its result at the first call, and returns it again at every other. */
export function once<T>(make: () => T): () => T {
  let made: { readonly result: T } | undefined;
  return () => (made ??= { result: make() }).result;
}
