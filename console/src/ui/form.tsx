// A form that the page itself handles: the browser sends nothing.
import type { ComponentProps } from 'react';

/** A form with its fields below each other. */
export function Form({ onSubmit, ...rest }: Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit: () => void }) {
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
      {...rest}
    />
  );
}
