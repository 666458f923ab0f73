// Points out models of a permission that are not in the catalog.
import type { ModelPermission } from '#proto/auth/v1/auth.js';
import type { Cli } from '../cli.js';
import { operatorCall, type Services } from '../connect.js';
import { unlessUnavailable } from '../unavailable.js';

/** Writes a sentence to standard error about each id that no model has: a model that is added later, an alias or a typing error. */
export async function noteUnknownModels(cli: Cli, { catalog }: Services, permission: ModelPermission | undefined): Promise<void> {
  const ids = permission?.modelIds ?? [];
  if (ids.length === 0) return;
  const listed = await unlessUnavailable(catalog.listModels({}, operatorCall()));
  if (listed === undefined) return;
  for (const id of ids) {
    if (listed.models.some((model) => model.id === id)) continue;
    const named = listed.models.find(({ aliases }) => aliases.includes(id));
    cli.out.aside(
      named === undefined
        ? `There is no model ${id} in the catalog yet; 'tollgate model list' shows the ids of all models.`
        : `${id} is an alias of ${named.id}. Specify ${named.id} instead: an alias permits no model.`,
    );
  }
}
