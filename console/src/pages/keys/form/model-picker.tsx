// A searchable list of models with checkboxes.
import { X } from 'lucide-react';
import { useState } from 'react';
import { keysText } from '../../../i18n/keys.js';
import { useText } from '../../../i18n/text.js';
import { type FieldError, useFieldError } from '../../../ui/field.js';
import { Fetched } from '../../../ui/query.js';
import { useCatalog } from '../queries.js';

/** The selected models are above the list, including those that are not (or no longer) in the catalog. */
export function ModelPicker({
  chosen,
  onChange,
  error,
}: {
  chosen: readonly string[];
  onChange: (models: readonly string[]) => void;
  error: FieldError | undefined;
}) {
  const t = useText(keysText);
  const catalog = useCatalog();
  const [text, setText] = useState('');
  const [shown, onInput] = useFieldError(error);
  const words = text.trim().toLowerCase();
  return (
    <fieldset className="flex flex-col gap-2" onInput={onInput}>
      <legend className="text-sm font-medium">{t.models}</legend>
      <p className="text-sm text-soft" role="status">
        {t.modelsChosen({ count: chosen.length })}
      </p>
      {chosen.length > 0 && (
        <ul className="flex flex-wrap gap-1.5">
          {chosen.map((model) => (
            <li key={model} className="inline-flex max-w-full items-center rounded-md bg-panel pl-2">
              <code className="wrap-anywhere">{model}</code>
              <button
                type="button"
                aria-label={t.modelRemove({ model })}
                className="inline-flex size-8 shrink-0 items-center justify-center rounded-md hover:bg-hover"
                onClick={() => onChange(chosen.filter((each) => each !== model))}
              >
                <X size={14} aria-hidden />
              </button>
            </li>
          ))}
        </ul>
      )}
      <input
        type="search"
        className="control"
        aria-label={t.modelsSearch}
        placeholder={t.modelsSearch}
        aria-invalid={shown === undefined ? undefined : true}
        autoComplete="off"
        value={text}
        onChange={(event) => setText(event.target.value)}
        // Enter in a search does not send the form around it.
        onKeyDown={(event) => event.key === 'Enter' && event.preventDefault()}
      />
      {shown !== undefined && (
        <p role="alert" className="text-sm text-bad">
          {shown}
        </p>
      )}
      <Fetched query={catalog}>
        {(models) => {
          const found = models.filter(
            (model) => model.lifecycle !== 'retired' && `${model.id} ${model.display_name}`.toLowerCase().includes(words),
          );
          if (found.length === 0) return <p className="text-soft">{t.modelsNoneFound}</p>;
          return (
            <ul className="max-h-56 overflow-y-auto rounded-md border border-line p-1">
              {found.map((model) => (
                <li key={model.id}>
                  <label className="flex min-h-10 cursor-pointer items-center gap-2.5 rounded px-2 hover:bg-hover">
                    <input
                      type="checkbox"
                      className="size-4.5 shrink-0 accent-accent"
                      checked={chosen.includes(model.id)}
                      onChange={(event) =>
                        onChange(event.target.checked ? [...chosen, model.id] : chosen.filter((each) => each !== model.id))
                      }
                    />
                    <span className="min-w-0 wrap-anywhere">
                      <code>{model.id}</code> {!model.available && <span className="text-sm text-soft">({t.modelUnavailable})</span>}
                    </span>
                  </label>
                </li>
              ))}
            </ul>
          );
        }}
      </Fetched>
    </fieldset>
  );
}
