// Finds the accounts or projects that a request names.

/** Returns the ids at this path of a request, every element where a field on the path is repeated. An absent message yields "". */
export function idsAt(request: unknown, path: readonly string[]): string[] {
  const ids: string[] = [];
  collect(request, path, 0, ids);
  return ids;
}

function collect(value: unknown, path: readonly string[], depth: number, ids: string[]): void {
  if (Array.isArray(value)) {
    for (const element of value) collect(element, path, depth, ids);
  } else if (depth === path.length) {
    ids.push(typeof value === 'string' ? value : '');
  } else if (typeof value === 'object' && value !== null) {
    collect((value as Record<string, unknown>)[path[depth]!], path, depth + 1, ids);
  } else {
    ids.push('');
  }
}
