// Tools in namespaces, which only this format has: elsewhere they are functions whose names contain their namespace. Pure.

/** What a tool is called in the common call, and by the caller. */
interface CallerToolName {
  readonly name: string;
  readonly namespace: string;
}

/** The tools in namespaces, by their names in the common call. */
export type ToolNames = Map<string, CallerToolName>;

/** Returns the name of a tool in the common call, and notes which one it stands for. */
export function wireToolName(names: ToolNames, name: string, namespace: string | null | undefined): string {
  if (namespace === null || namespace === undefined || namespace === '') return name;
  const wire = `${namespace}__${name}`;
  names.set(wire, { name, namespace });
  return wire;
}
