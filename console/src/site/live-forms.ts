// Forms with data-live apply each change of a field immediately: the contents of the elements that the attribute names are replaced by those of the page that
// the form would open.

const pauseMs = 200;

/** Makes the forms of the page live. */
export function liveForms(): void {
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-live]')) {
    const shown = form.dataset['live']!.split(' ').map((id) => document.getElementById(id)!);
    // The search next to an article shows its results without leaving the page.
    const staysHere = form.dataset['stays'] !== undefined;
    let timer: number | undefined;
    let turn = 0;

    const update = async (): Promise<void> => {
      turn += 1;
      const own = turn;
      const address = new URL(form.action);
      address.search = new URLSearchParams(
        [...new FormData(form)].map(([name, value]): [string, string] => [name, String(value)]),
      ).toString();
      if (staysHere && form.querySelector<HTMLInputElement>('[type=search]')!.value.trim() === '') {
        shown.forEach((each) => each.replaceChildren());
        return;
      }
      try {
        const response = await fetch(address);
        // An error page has no such elements, so the current contents stay.
        if (!response.ok) return;
        const found = new DOMParser().parseFromString(await response.text(), 'text/html');
        if (own !== turn) return;
        for (const each of shown) each.replaceChildren(...(found.getElementById(each.id)?.childNodes ?? []));
        if (!staysHere) history.replaceState(null, '', address);
      } catch {
        // The form's own button still opens the page.
      }
    };
    form.addEventListener('input', () => {
      clearTimeout(timer);
      timer = setTimeout(() => void update(), pauseMs);
    });
    if (!staysHere) form.addEventListener('submit', (event) => (event.preventDefault(), void update()));
    else addSearchKeys(form, shown[0]!);
  }
}

/** "/" focuses the search, Escape closes its results. */
function addSearchKeys(form: HTMLFormElement, found: HTMLElement): void {
  const field = form.querySelector<HTMLInputElement>('[type=search]')!;
  document.addEventListener('keydown', (event) => {
    const isTyping = event.target instanceof HTMLElement && /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName);
    if (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      field.focus();
    }
    if (event.key === 'Escape' && found.childElementCount > 0) {
      found.replaceChildren();
      field.focus();
    }
  });
  document.addEventListener('click', (event) => {
    if (event.target instanceof Node && !form.parentElement!.contains(event.target)) found.replaceChildren();
  });
}
