// A form that the page itself handles: the browser sends nothing.
import { type ComponentProps, createContext, useEffect, useRef, useState } from 'react';

/** How often the form around a component was submitted. */
export const Submissions = createContext(0);

/** A form with its fields below each other. After a submission, the focus moves to the first faulty field. */
export function Form({ onSubmit, ...rest }: Omit<ComponentProps<'form'>, 'onSubmit' | 'onInput' | 'ref'> & { onSubmit: () => void }) {
  const form = useRef<HTMLFormElement>(null);
  const [submissions, setSubmissions] = useState(0);
  /** Whether the form is as it was submitted; the focus of a user who continues stays where it is. */
  const isAsSubmitted = useRef(false);
  useEffect(() => {
    const faulty = isAsSubmitted.current ? form.current?.querySelector<HTMLElement>('[aria-invalid=true]') : null;
    if (faulty == null) return;
    isAsSubmitted.current = false;
    faulty.focus();
  });
  return (
    <Submissions value={submissions}>
      <form
        ref={form}
        className="flex flex-col gap-4"
        onInput={() => (isAsSubmitted.current = false)}
        onSubmit={(event) => {
          event.preventDefault();
          isAsSubmitted.current = true;
          setSubmissions(submissions + 1);
          onSubmit();
        }}
        {...rest}
      />
    </Submissions>
  );
}
