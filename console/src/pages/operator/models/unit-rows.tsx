// The prices of a draft for units that are not tokens, as rows that can be added and removed.
import { modelsText } from '../../../i18n/operator-models.js';
import { useText } from '../../../i18n/text.js';
import { Button } from '../../../ui/button.js';
import { TextField } from '../../../ui/field.js';
import { fieldError } from '../../../ui/notice.js';
import type { TypedUnit } from './price-form.js';

/** Fields as the gateway and the catalog name them; rows without a name are not sent. */
const pathsOf = (index: number) => ({
  unit: [`unit_prices[${index}].unit`, `price.units[${index}].unit`],
  usd: [`unit_prices[${index}].usd`, `price.units[${index}].nano_usd`],
  perCall: [`unit_prices[${index}].max_per_call`, `price.units[${index}].max_per_call`],
});

/** Returns the paths of all fields of these rows. */
export function unitFieldPaths(units: readonly TypedUnit[]): string[] {
  return units.flatMap((_, index) => Object.values(pathsOf(index)).flat());
}

const suggestionsId = 'units-known';

export function UnitRows({
  units,
  onChange,
  error,
}: {
  units: readonly TypedUnit[];
  onChange: (units: readonly TypedUnit[]) => void;
  error: Error | null;
}) {
  const t = useText(modelsText);
  const change = (row: number, changes: Partial<TypedUnit>): void =>
    onChange(units.map((each) => (each.row === row ? { ...each, ...changes } : each)));
  const errorOf = (paths: readonly string[]) => paths.map((path) => fieldError(error, path)).find(Boolean);
  const next = Math.max(-1, ...units.map(({ row }) => row)) + 1;
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="text-sm font-medium">{t.otherUnits}</legend>
      <p className="text-sm text-soft">{t.otherUnitsHint}</p>
      <datalist id={suggestionsId}>
        {['request', 'web_search'].map((unit) => (
          <option key={unit} value={unit} />
        ))}
      </datalist>
      {units.map((each, index) => {
        const paths = pathsOf(index);
        return (
          <div key={each.row} className="flex flex-wrap items-end gap-3">
            <TextField
              label={t.unit}
              list={suggestionsId}
              required
              value={each.unit}
              onChange={(event) => change(each.row, { unit: event.target.value })}
              error={errorOf(paths.unit)}
            />
            <TextField
              label={t.unitPrice}
              inputMode="decimal"
              required
              value={each.usd}
              onChange={(event) => change(each.row, { usd: event.target.value })}
              error={errorOf(paths.usd)}
            />
            {each.unit.trim() !== 'request' && (
              <TextField
                label={t.perCall}
                inputMode="numeric"
                required
                value={each.maxPerCall}
                onChange={(event) => change(each.row, { maxPerCall: event.target.value })}
                error={errorOf(paths.perCall)}
              />
            )}
            <Button aria-label={t.removeUnit({ unit: each.unit })} onClick={() => onChange(units.filter(({ row }) => row !== each.row))}>
              ×
            </Button>
          </div>
        );
      })}
      <div>
        <Button onClick={() => onChange([...units, { row: next, unit: '', usd: '', maxPerCall: '10' }])}>{t.addUnit}</Button>
      </div>
    </fieldset>
  );
}
