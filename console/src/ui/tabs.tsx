// Several panels, one of them visible.
import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';

/** A panel with its name. */
export interface Tab {
  readonly value: string;
  readonly label: string;
  readonly content: ReactNode;
}

export function Tabs({
  label,
  tabs,
  value,
  onChange,
}: {
  label: string;
  tabs: readonly Tab[];
  value?: string;
  onChange?: (value: string) => void;
}) {
  return (
    <Base.Root {...(value === undefined ? { defaultValue: tabs[0]?.value } : { value, onValueChange: (next: string) => onChange?.(next) })}>
      <Base.List aria-label={label} className="mb-3 flex flex-wrap gap-1 border-b border-line">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.value}
            value={tab.value}
            className="-mb-px min-h-10 border-b-2 border-transparent px-3 text-soft hover:text-text data-active:border-accent data-active:font-medium data-active:text-text"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        // A hidden panel keeps what was typed into it.
        <Base.Panel key={tab.value} value={tab.value} keepMounted>
          {tab.content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
